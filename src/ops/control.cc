// How the shapes of arms join and how carried shapes are classified. Symbols made while a region is built are its own: what
// the region gives is described without them.
#include "ops/control.h"

#include "graph/control.h"
#include "graph/list_type.h"

namespace pliant::ops {

using expr::SymbolId;
using graph::FunctionBuilder;
using graph::kNoValue;
using graph::Node;
using graph::Shape;
using graph::Type;

namespace {

// Symbols from `first` on belong to the region.
bool is_outside(Dim d, SymbolId first) {
  for (SymbolId s : expr::symbols_of(d))
    if (s >= first) return false;
  return true;
}

// A bound of `d` over outer symbols: those of the region that raise d are replaced by their bounds.
std::optional<Dim> bound_outside(Dim d, SymbolId first, expr::Context& ctx) {
  constexpr int kMostSteps = 16;
  for (int step = 0; step < kMostSteps && !is_outside(d, first); ++step) {
    std::optional<Dim> next;
    for (SymbolId s : expr::symbols_of(d)) {
      const expr::SymbolInfo& info = ctx.info(s);
      std::optional<Dim> by = info.upper;
      if (!by && info.hi != expr::kNoLimit) by = ctx.constant(info.hi);
      std::optional<Dim> slope = expr::coefficient_of(d, s);
      if (s < first || !by || !slope || !slope->is_const() || slope->const_value() < 0) continue;
      next = expr::substitute(d, {{s, *by}});
      break;
    }
    if (!next) return std::nullopt;
    d = *next;
  }
  return is_outside(d, first) ? std::optional(d) : std::nullopt;
}

Dim max_of(Dim a, Dim b, expr::Context& ctx) {
  if (ctx.proves_less_equal(a, b)) return b;
  return ctx.proves_less_equal(b, a) ? a : expr::max(a, b);
}

std::string first_node(const LocPtr& loc) {
  std::vector<std::string> nodes = model_nodes(loc);
  return nodes.empty() ? std::string() : nodes.front();
}

Dim fresh_symbol(const std::string& what, std::optional<Dim> upper, const LocPtr& loc, expr::Context& ctx) {
  expr::SymbolInfo info;
  std::string node = first_node(loc);
  info.name = node.empty() ? what : node + "_" + what;
  if (upper) info.hi = ctx.range(*upper).hi;
  info.upper = upper;
  info.origin = {expr::Origin::Kind::Data, node, 0};
  return ctx.symbol(std::move(info));
}

ValueId append_true(FunctionBuilder& b, const LocPtr& loc) {
  uint8_t yes = 1;
  return b.append_const(graph::make_constant(DType::Bool, {}, &yes, 1), loc);
}

// ---- core.if

using Yield = std::optional<std::vector<ValueId>>;

struct Arm {
  std::shared_ptr<const graph::Region> region;
  Yield yield;
};

Result<Arm> build_arm(FunctionBuilder& b, const ArmFn& build) {
  b.begin_region({});
  Result<Yield> yield = build();
  if (!yield.ok()) {
    b.drop_region();
    return std::move(yield.error());
  }
  Arm arm;
  arm.yield = yield.take();
  arm.region = b.end_region(arm.yield.value_or(std::vector<ValueId>{}));
  return arm;
}

struct Join {
  expr::Context& ctx;
  SymbolId first;
  const LocPtr& loc;

  Dim dim(Dim a, Dim b, size_t axis) const {
    bool inside = !is_outside(a, first) || !is_outside(b, first);
    if (!inside && (a == b || ctx.proves_equal(a, b))) return a;
    std::optional<Dim> most_a = bound_outside(a, first, ctx), most_b = bound_outside(b, first, ctx), upper;
    if (most_a && most_b) upper = max_of(*most_a, *most_b, ctx);
    return fresh_symbol("d" + std::to_string(axis), upper, loc, ctx);
  }

  Type outside(const Type& list) const {
    return graph::widen_list(list, ctx, [&](SymbolId s) { return s < first; });
  }

  Result<Type> type(const Type& a, const Type& b, size_t output) const {
    const TensorType *x = a.tensor(), *y = b.tensor();
    if (graph::is_list(a) && graph::is_list(b)) {
      if (std::optional<Type> list = graph::join_lists(a, b, ctx)) return outside(*list);
    }
    bool fits = x != nullptr && y != nullptr && x->dtype == y->dtype && x->shape.size() == y->shape.size();
    if (!fits)
      return make_error("arms-differ", describe(loc),
                        "the branches give output " + std::to_string(output) + " as " + print(a) + " and as " + print(b));
    Shape shape;
    for (size_t k = 0; k < x->shape.size(); ++k) shape.push_back(dim(x->shape[k], y->shape[k], k));
    return graph::make_tensor_type(x->dtype, std::move(shape));
  }
};

Result<std::vector<Type>> join_arms(const graph::Function& f, const Arm& then, const Arm& otherwise, const Join& join) {
  const Yield& a = then.yield ? then.yield : otherwise.yield;
  const Yield& b = otherwise.yield ? otherwise.yield : then.yield;
  std::vector<Type> types;
  if (!a) return types;
  if (a->size() != b->size())
    return make_error("arms-differ", describe(join.loc),
                      "the branches give " + std::to_string(a->size()) + " and " + std::to_string(b->size()) + " values");
  for (size_t i = 0; i < a->size(); ++i) types.push_back(TRY(join.type(f.value((*a)[i]).type, f.value((*b)[i]).type, i)));
  return types;
}

}  // namespace

Result<std::vector<ValueId>> append_if(FunctionBuilder& b, expr::Context& ctx, const Condition& condition, const ArmFn& then,
                                       const ArmFn& otherwise, const LocPtr& loc) {
  SymbolId first = ctx.symbol_count();
  Arm yes = TRY(build_arm(b, then)), no = TRY(build_arm(b, otherwise));
  std::vector<Type> types = TRY(join_arms(b.peek(), yes, no, Join{ctx, first, loc}));
  Node n;
  n.op = "core.if";
  n.inputs = {condition.value};
  if (condition.value == kNoValue) {
    PLIANT_CHECK(condition.dim) << "core.if without a condition";
    n.attrs.set("cond", *condition.dim);
  }
  for (Type& t : types) n.outputs.push_back(b.add_value(std::move(t)));
  n.regions = {yes.region, no.region};
  n.loc = loc;
  std::vector<ValueId> outputs = n.outputs;
  b.append(std::move(n));
  return outputs;
}

namespace {

// ---- core.loop

enum class Change : uint8_t { Invariant, Affine, Fresh };
struct Axis {
  Change change = Change::Invariant;
  Dim step;  // Affine: what each iteration adds
};

class LoopBuilder {
 public:
  LoopBuilder(FunctionBuilder& b, expr::Context& ctx, const LoopSpec& spec, const BodyFn& body, const LocPtr& loc)
      : b_(b), ctx_(ctx), spec_(spec), body_fn_(body), loc_(loc), first_(ctx.symbol_count()) {
    expr::SymbolInfo info;
    info.name = "i";
    if (spec.trip) {
      info.upper = *spec.trip - 1;
      info.hi = std::max<int64_t>(0, ctx.range(*info.upper).hi);
    }
    info.origin = {expr::Origin::Kind::LoopIndex, first_node(loc), 0};
    index_ = ctx.symbol(std::move(info));
    for (ValueId v : spec.init) {
      const TensorType* t = type(v).tensor();
      axes_.emplace_back(t == nullptr ? 0 : t->shape.size());
      lists_.push_back(type(v));
    }
  }

  Result<LoopValues> run() {
    bool all_fresh = false;
    for (bool stable = false; !stable;) {
      Status built = build();
      // What was taken for invariant or affine may be what is wrong.
      if (!built.ok() && !all_fresh && set_all_fresh()) {
        all_fresh = true;
        if (build().ok()) built = ok();
      }
      if (!built.ok()) return std::move(built.error());
      bool changed = TRY(promote());
      stable = !changed && !given_.again;
    }
    return finish();
  }

 private:
  const Type& type(ValueId v) const { return b_.peek().value(v).type; }
  const Dim& init_dim(size_t i, size_t k) const { return type(spec_.init[i]).tensor()->shape[k]; }
  SymbolId index() const { return *index_.as_symbol(); }

  bool set_all_fresh() {
    bool any = false;
    for (auto& axes : axes_)
      for (Axis& a : axes) {
        a.change = Change::Fresh;
        any = true;
      }
    return any;
  }

  Type param_type(size_t i) {
    const TensorType* t = type(spec_.init[i]).tensor();
    if (t == nullptr) return lists_[i];
    Shape shape = t->shape;
    DType dtype = t->dtype;
    for (size_t k = 0; k < shape.size(); ++k) {
      const Axis& a = axes_[i][k];
      if (a.change == Change::Affine) shape[k] = shape[k] + a.step * index_;
      if (a.change == Change::Fresh)
        shape[k] = fresh_symbol("carried" + std::to_string(i) + "_" + std::to_string(k), std::nullopt, loc_, ctx_);
    }
    return graph::make_tensor_type(dtype, std::move(shape));
  }

  Status build() {
    params_.clear();
    for (size_t i = 0; i < spec_.init.size(); ++i)
      params_.push_back(b_.add_value(param_type(i), b_.peek().value(spec_.init[i]).name));
    b_.begin_region(params_);
    Result<LoopBody> given = body_fn_(index_, params_);
    if (!given.ok()) {
      b_.drop_region();
      return std::move(given.error());
    }
    given_ = given.take();
    PLIANT_CHECK(given_.carried.size() == spec_.init.size()) << "a loop body gives other carried values than the loop has";
    is_conditional_ = spec_.condition != kNoValue || given_.condition != kNoValue;
    std::vector<ValueId> results{given_.condition == kNoValue ? append_true(b_, loc_) : given_.condition};
    results.insert(results.end(), given_.carried.begin(), given_.carried.end());
    results.insert(results.end(), given_.scans.begin(), given_.scans.end());
    region_ = b_.end_region(std::move(results));
    return ok();
  }

  // Compares what the body gives with what it was built for. True when an axis has to be taken for less regular.
  Result<bool> promote() {
    bool changed = false;
    for (size_t i = 0; i < params_.size(); ++i) {
      const Type &have = type(given_.carried[i]), &want = type(params_[i]);
      const TensorType *h = have.tensor(), *w = want.tensor();
      if (graph::is_list(want) && graph::is_list(have)) {
        if (std::optional<bool> wider = widen_carried(i, have)) {
          changed |= *wider;
          continue;
        }
      }
      bool fits = h != nullptr && w != nullptr && h->dtype == w->dtype && h->shape.size() == w->shape.size();
      if (!fits)
        return make_error("carried-type", describe(loc_),
                          "carried value " + std::to_string(i) + " starts as " + print(type(spec_.init[i])) +
                              " but becomes " + print(have) + " in the body");
      for (size_t k = 0; k < h->shape.size(); ++k) changed |= promote_axis(axes_[i][k], w->shape[k], h->shape[k]);
    }
    return changed;
  }

  // Whether a carried sequence or optional has to be of a wider type; nothing where no type holds both.
  std::optional<bool> widen_carried(size_t i, const Type& next) {
    Type outside = graph::widen_list(next, ctx_, [&](SymbolId s) { return s < first_; });
    std::optional<Type> joined = graph::join_lists(lists_[i], outside, ctx_);
    if (!joined) return std::nullopt;
    bool wider = *joined != lists_[i];
    lists_[i] = std::move(*joined);
    return wider;
  }

  bool promote_axis(Axis& axis, Dim param, Dim next) {
    if (axis.change == Change::Fresh) return false;
    Dim expected = expr::substitute(param, {{index(), index_ + 1}});
    if (next == expected || ctx_.proves_equal(next, expected)) return false;
    Dim step = next - param;
    if (axis.change == Change::Invariant && is_outside(step, first_))
      axis = {Change::Affine, step};
    else
      axis.change = Change::Fresh;
    return true;
  }

  Dim count() {
    Dim zero = ctx_.constant(0);
    std::optional<Dim> most;
    if (spec_.trip) most = max_of(zero, *spec_.trip, ctx_);
    if (!is_conditional_ && most) return *most;
    return fresh_symbol("count", most, loc_, ctx_);
  }

  // What a carried axis may be at most when every iteration adds at most a known amount.
  std::optional<Dim> bound_fresh(size_t i, size_t k, Dim count) {
    Dim param = type(params_[i]).tensor()->shape[k], next = type(given_.carried[i]).tensor()->shape[k];
    std::optional<Dim> most = bound_outside(next - param, first_, ctx_);
    if (!most) return std::nullopt;
    Dim step = max_of(ctx_.constant(0), *most, ctx_);
    ctx_.mutable_info(*param.as_symbol()).upper = init_dim(i, k) + step * index_;
    return init_dim(i, k) + step * count;
  }

  Type carried_output(size_t i, Dim count) {
    const TensorType* t = type(spec_.init[i]).tensor();
    if (t == nullptr) return lists_[i];
    Shape shape = t->shape;
    DType dtype = t->dtype;
    for (size_t k = 0; k < shape.size(); ++k) {
      const Axis& a = axes_[i][k];
      if (a.change == Change::Affine) shape[k] = shape[k] + a.step * count;
      if (a.change == Change::Fresh)
        shape[k] = fresh_symbol("out" + std::to_string(i) + "_" + std::to_string(k), bound_fresh(i, k, count), loc_, ctx_);
    }
    return graph::make_tensor_type(dtype, std::move(shape));
  }

  Result<Type> scan_output(size_t j, Dim count) {
    const TensorType* t = type(given_.scans[j]).tensor();
    if (t == nullptr)
      return make_error("wrong-type", describe(loc_), "scan value " + std::to_string(j) + " is not a tensor");
    DType dtype = t->dtype;
    Shape shape{count};
    for (Dim d : Shape(t->shape)) {
      if (!is_outside(d, first_)) {
        std::string what = "scan" + std::to_string(j) + "_" + std::to_string(shape.size() - 1);
        d = fresh_symbol(what, bound_outside(d, first_, ctx_), loc_, ctx_);
      }
      shape.push_back(d);
    }
    return graph::make_tensor_type(dtype, std::move(shape));
  }

  Result<LoopValues> finish() {
    LoopValues out;
    out.count = count();
    Node n;
    n.op = "core.loop";
    n.inputs = {spec_.condition};
    n.inputs.insert(n.inputs.end(), spec_.init.begin(), spec_.init.end());
    n.attrs.set("index", index_);
    n.attrs.set("count", out.count);
    if (spec_.trip) n.attrs.set("trip", *spec_.trip);
    for (size_t i = 0; i < params_.size(); ++i) out.carried.push_back(b_.add_value(carried_output(i, out.count)));
    for (size_t j = 0; j < given_.scans.size(); ++j) out.scans.push_back(b_.add_value(TRY(scan_output(j, out.count))));
    n.outputs = out.carried;
    n.outputs.insert(n.outputs.end(), out.scans.begin(), out.scans.end());
    n.regions = {region_};
    n.loc = loc_;
    b_.append(std::move(n));
    return out;
  }

  FunctionBuilder& b_;
  expr::Context& ctx_;
  const LoopSpec& spec_;
  const BodyFn& body_fn_;
  const LocPtr& loc_;
  SymbolId first_;
  Dim index_;
  std::vector<std::vector<Axis>> axes_;  // of each carried tensor
  std::vector<Type> lists_;              // of each carried sequence or optional
  std::vector<ValueId> params_;
  LoopBody given_;
  std::shared_ptr<const graph::Region> region_;
  bool is_conditional_ = false;
};

}  // namespace

Result<LoopValues> append_loop(FunctionBuilder& b, expr::Context& ctx, const LoopSpec& spec, const BodyFn& body,
                               const LocPtr& loc) {
  return LoopBuilder(b, ctx, spec, body, loc).run();
}

}  // namespace pliant::ops
