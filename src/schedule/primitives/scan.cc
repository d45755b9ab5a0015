// for k in E { acc op= f(k); y[k] = g(acc) }  ->  vectors of W iterations: local t = f, t op= t one lane before, t op= t two
// lanes before …, y = g(acc op t), acc op= the last lane of t (Hillis and Steele, 1986).
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

class Scan {
 public:
  Scan(Edit& e, const StmtPtr& l, int64_t lanes) : e_(e), loop_(l), lanes_(lanes) {}

  // Whether the loop is such a scan.
  bool find() {
    const std::vector<StmtPtr> s = statements_of(loop_->body[0]);
    if (s.size() != 2 || s[0]->kind != StmtKind::Store || s[1]->kind != StmtKind::Store) return false;
    exclusive_ = s[0]->store_kind == StoreKind::Assign;
    add_ = s[exclusive_ ? 1 : 0], put_ = s[exclusive_ ? 0 : 1];
    acc = *loop::find_buffer(e_.function, add_->buffer);
    const auto identity = loop::identity_of(add_->store_kind, acc.dtype, e_.ctx);
    bool fits = identity && put_->store_kind == StoreKind::Assign && acc.scope == Scope::Local;
    for (Dim d : add_->index) fits = fits && d.is_const();
    for (Scalar x : expr::loads_of(add_->value)) fits = fits && x->tensor != acc.id && x->tensor != put_->buffer;
    for (Scalar x : expr::loads_of(put_->value))
      fits = fits && x->tensor != put_->buffer && (x->tensor != acc.id || x->index == add_->index);
    for (size_t k = 0; fits && k < put_->index.size(); ++k) {
      const bool last = k + 1 == put_->index.size();
      const auto step = expr::coefficient_of(put_->index[k], loop_->var);
      fits = step && (last ? step->is_const(1) || step->is_const(-1) : step->is_const(0));
      backward_ = fits && step->is_const(-1);
    }
    // Zeros that come in at the far end are a shift of bytes.
    if (fits) identity_ = backward_ && starts_at_zero(e_, loop_, *add_) ? expr::make_const(e_.ctx, acc.dtype, 0) : *identity;
    return fits;
  }
  // What stands before a vector; of sums of f32 it has room for all digits, for it takes one term a vector.
  Buffer make_before() {
    const bool is_sum = add_->store_kind == StoreKind::Add && acc.dtype == DType::F32;
    return e_.derived_buffer("before", is_sum ? DType::F64 : acc.dtype, {e_.ctx.constant(1)});
  }
  Scalar load(const Buffer& b, Dim i) const { return expr::make_load(e_.ctx, b.id, b.dtype, {i}); }
  const std::vector<Dim>& place() const { return add_->index; }

  // `count` iterations from `first` on, behind `before`; lanes lie as memory does.
  StmtPtr vector(const Buffer& before, Dim first, Dim count) {
    const Dim n = e_.ctx.constant(lanes_);
    // Beside what is scanned are lanes that change nothing, which are read where there is nothing earlier.
    const int64_t twice = 2 * lanes_, own = backward_ ? lanes_ : 0, outside = backward_ ? 0 : lanes_;
    std::vector<Buffer> steps;
    std::vector<StmtPtr> seq;
    auto over = [&](const std::function<StmtPtr(Dim, const expr::DimMap&)>& body) {
      const Dim l = e_.derived_index(e_.name_of(loop_->var) + ".l", n);
      const Dim at = backward_ ? first + count - 1 - l : first + l;
      seq.push_back(make_for(l, n, ForKind::Vector, body(l, {{loop_->var, at}})));
    };
    auto add_step = [&](const std::function<Scalar(Dim, const expr::DimMap&)>& value) {
      const Buffer b = e_.derived_buffer("scanned", acc.dtype, {e_.ctx.constant(twice)});
      over([&](Dim l, const expr::DimMap&) { return loop::make_store(b.id, {l + outside}, identity_); });
      over([&](Dim l, const expr::DimMap& at) { return loop::make_store(b.id, {l + own}, value(l, at)); });
      steps.push_back(b);
    };
    auto earlier = [&](Dim l, int64_t distance) {
      return load(steps.back(), expr::mod(l + own + (backward_ ? distance : twice - distance), twice));
    };
    auto combined = [&](Scalar a, Scalar b) { return expr::make_binary(*loop::update_of(add_->store_kind), a, b); };
    add_step([&](Dim l, const expr::DimMap& at) {
      const Scalar x = expr::substitute(add_->value, at);
      return count.is_const(lanes_) ? x : expr::make_select(expr::less(l, count), x, identity_);
    });
    for (int64_t distance = 1; distance < lanes_; distance *= 2)
      add_step([&](Dim l, const expr::DimMap&) { return combined(earlier(l, 0), earlier(l, distance)); });
    over([&](Dim l, const expr::DimMap& at) {
      const Scalar now =
          combined(expr::make_cast(acc.dtype, load(before, e_.ctx.constant(0))), earlier(l, exclusive_ ? 1 : 0));
      std::vector<Dim> index;
      for (Dim d : put_->index) index.push_back(expr::substitute(d, at));
      const Scalar value = expr::substitute(put_->value, at, [&](Scalar x) { return x->tensor == acc.id ? now : x; });
      const StmtPtr s = loop::make_store(put_->buffer, index, value);
      return count.is_const(lanes_) ? s : loop::make_if(expr::less(l, count), s);
    });
    const Scalar all = expr::make_cast(before.dtype, load(steps.back(), e_.ctx.constant(backward_ ? own : lanes_ - 1)));
    seq.push_back(loop::make_store(before.id, {e_.ctx.constant(0)}, all, add_->store_kind));
    return loop::make_allocs(steps, loop::make_block(std::move(seq)));
  }

  Buffer acc;

 private:
  Edit& e_;
  StmtPtr loop_, add_, put_;
  int64_t lanes_;
  Scalar identity_;
  bool exclusive_ = false, backward_ = false;
};

}  // namespace

Status Schedule::scan(std::string_view name, int64_t lanes) {
  Edit e(*this, "scan", name, lanes);
  const StmtPtr old = TRY(e.find_loop(name));
  if (lanes < 2 || lanes > kMostLanes || (lanes & (lanes - 1)) != 0)
    return e.refuse("the lanes are not 2, 4, 8 … " + std::to_string(kMostLanes));
  Scan scan(e, old, lanes);
  if (old->for_kind != ForKind::Serial || !scan.find())
    return e.refuse("loop " + std::string(name) + " does not update a running value and store what follows from it");
  const Dim n = e.ctx.constant(lanes), zero = e.ctx.constant(0);
  const Dim whole = expr::floordiv(old->extent, n), rest = expr::mod(old->extent, n);
  const Buffer before = scan.make_before(), &acc = scan.acc;
  const Scalar begin = expr::make_load(e.ctx, acc.id, acc.dtype, scan.place());
  std::vector<StmtPtr> seq{loop::make_store(before.id, {zero}, expr::make_cast(before.dtype, begin))};
  const Dim v = e.derived_index(e.name_of(old->var) + ".v", whole);
  seq.push_back(make_for(v, whole, ForKind::Serial, scan.vector(before, v * n, n)));
  if (!rest.is_const(0)) seq.push_back(loop::make_if(expr::less(zero, rest), scan.vector(before, whole * n, rest)));
  seq.push_back(loop::make_store(acc.id, scan.place(), expr::make_cast(acc.dtype, scan.load(before, zero))));
  e.replace(old, loop::make_alloc(before, loop::make_block(std::move(seq))));
  return e.commit();
}

}  // namespace pliant::schedule
