// for k in E { acc += e(k) }  ->  f64 t { t = acc, acc = 0, for b … { for k in the block b { acc += e(k) } t += acc, acc = 0
// } acc = t } where E is longer than a block, so that rounding errors do not grow with the number of terms
// (docs/adr/0009-numerics.md). Where short sums share the loop:
// f64 t { if E > block { t = 0 } for b … { for k in the block b { acc += e(k) } if more { t += acc, acc = 0 } } if E > block
// { acc = t + acc } }, where what follows loop k and only adds to acc too is done before the last step.
#include <algorithm>

#include "schedule/dependence.h"
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

// Rows of accumulators that are added to totals by code of their own. More are in registers, and added one after the other
// in memory.
constexpr int64_t kMostRows = 4;

class Carry {
 public:
  // The sum is loop `home`.
  Carry(Edit& e, const Buffer& acc, Buffer totals, int64_t block, const StmtPtr& home, Short how)
      : e_(e), acc_(acc), totals_(std::move(totals)), block_(e.ctx.constant(block)), shared_(how == Short::Shared) {
    std::vector<const Stmt*> stores;
    Extents loops;
    loop::for_each(home, [&](const Stmt& s) {
      if (s.kind == StmtKind::Store && s.buffer == acc.id) stores.push_back(&s);
      if (s.kind == StmtKind::For) loops.emplace_back(s.var, s.extent);
    });
    for (Dim d : acc.shape) axes_.push_back({d, expr::kNoLimit});
    if (stores.size() != 1) return;
    for (size_t k = 0; k < axes_.size(); ++k)
      for (auto& [var, extent] : loops)
        if (stores[0]->index[k].as_symbol() == var && !uses_bound(extent, home)) {
          lanes_.insert(var);
          axes_[k] = {extent, e.ctx.info(var).hi};
        }
    Dim rows = e.ctx.constant(1);
    for (size_t k = 0; k + 1 < axes_.size(); ++k) rows = rows * axes_[k].first;
    if (shared_ && acc.scope == Scope::Local && !e.ctx.proves_less_equal(rows, e.ctx.constant(kMostRows)))
      memory_ = e.derived_buffer("block", acc.dtype, acc.shape);
  }

  // Nothing but terms of sums, and stores of values that may follow from the sums so far, happens in `s`; nor those, where
  // short sums share the loop.
  bool only_adds(const StmtPtr& s) const {
    bool adds = true, reads = false;
    const StmtPtr sums =
        loop::rewrite(s, [&](const StmtPtr& x) -> StmtPtr { return !shared_ && is_put(*x) ? loop::make_block({}) : x; });
    loop::for_each(sums, [&](const Stmt& x) {
      adds = adds && x.kind != StmtKind::Check && x.kind != StmtKind::While && x.kind != StmtKind::Alloc &&
             (x.kind != StmtKind::Store || (x.buffer == acc_.id && x.store_kind == StoreKind::Add));
    });
    for (const Access& a : accesses_of(sums)) reads = reads || (a.buffer == acc_.id && !a.is_store);
    return adds && !reads;
  }

  // Whether `s` does nothing but add to sums, no more terms to each than a block has.
  bool adds_few(const StmtPtr& s) {
    loop::for_each(s, [&](const Stmt& x) {
      if (x.kind != StmtKind::Store || x.buffer != acc_.id) return;
      for (Dim d : x.index)
        if (const auto var = d.as_symbol()) lanes_.insert(*var);
    });
    const Dim count = terms(s);
    return only_adds(s) && !count.is_const(0) && !uses_bound(count, s) && e_.ctx.proves_less_equal(count, block_);
  }

  // As far as the accumulator is known to be used.
  std::vector<Dim> shape_of_totals() const {
    std::vector<Dim> shape;
    for (size_t k = 0; k < axes_.size(); ++k) shape.push_back(axes_[k].first.is_const() ? axes_[k].first : acc_.shape[k]);
    return shape;
  }

  // `s`, which reads sums, where they are parts of the totals.
  StmtPtr behind_totals(const StmtPtr& s) const {
    return loop::substitute(s, {}, [&](expr::Scalar x) {
      if (x->tensor != acc_.id) return x;
      return expr::make_cast(acc_.dtype, expr::make_load(e_.ctx, totals_.id, DType::F64, x->index)) + x;
    });
  }

  // The most terms that an element gets while `s` runs once.
  Dim terms(const StmtPtr& s) const {
    if (s->kind == StmtKind::Store) return e_.ctx.constant(s->buffer == acc_.id ? 1 : 0);
    Dim sum = e_.ctx.constant(0);
    for (const StmtPtr& child : s->body) sum = sum + terms(child);
    return s->kind == StmtKind::For && !is_lane(s) ? sum * s->extent : sum;
  }

  StmtPtr in_blocks(const StmtPtr& s) {
    if (s->kind == StmtKind::Store || e_.ctx.proves_less_equal(terms(s), block_)) return s;
    std::vector<StmtPtr> body;
    for (const StmtPtr& child : s->body) body.push_back(in_blocks(child));
    const StmtPtr now = loop::with_body(s, body);
    if (s->kind != StmtKind::For || is_lane(s)) return now;
    const Dim one = e_.ctx.constant(1), size = max(one, floordiv(block_, max(one, terms(s->body[0]))));
    if (e_.ctx.proves_less_equal(s->extent, size)) return now;
    const Dim count = expr::ceildiv(s->extent, size), b = e_.derived_index(e_.name_of(s->var) + ".b", count);
    const Dim first = shared_ ? e_.derived_index(e_.name_of(s->var) + ".f", s->extent) : b * size;
    const Dim left = expr::min(size, s->extent - first), i = e_.rename(s->var, left);
    StmtPtr part = e_.substitute(now->body[0], {{s->var, first + i}});
    part = loop::make_for(*i.as_symbol(), left, ForKind::Serial, part);
    // What the last of the blocks that all sums share leaves is taken by the loop around, or in the end.
    const StmtPtr taken =
        shared_ ? loop::make_if(expr::less(first + size, s->extent), take(StoreKind::Add)) : take(StoreKind::Add);
    part = loop::make_block({part, taken});
    if (shared_) part = loop::make_let(*first.as_symbol(), b * size, part);
    return loop::make_for(*b.as_symbol(), count, ForKind::Serial, part);
  }

  StmtPtr around(const StmtPtr& blocks) {
    const StmtPtr end = each([&](const std::vector<Dim>& at) {
      const expr::Scalar total = expr::make_load(e_.ctx, totals_.id, DType::F64, at);
      return loop::make_store(acc_.id, at, expr::make_cast(acc_.dtype, total));
    });
    return loop::make_block({take(StoreKind::Assign), blocks, end});
  }

  // `blocks`, and what adds to their last one, where short sums share them: `is_long` tells those that have totals.
  StmtPtr around_all(std::vector<StmtPtr> blocks, expr::Scalar is_long) {
    const BufferId sums = memory_ ? memory_->id : acc_.id;
    const StmtPtr clear = each_summed([&](const std::vector<Dim>& at) {
      return loop::make_store(totals_.id, at, expr::make_const(e_.ctx, DType::F64, 0));
    });
    const StmtPtr end = each_summed([&](const std::vector<Dim>& at) {
      const expr::Scalar total = expr::make_load(e_.ctx, totals_.id, DType::F64, at) + wide(sums, at);
      return loop::make_store(sums, at, expr::make_cast(acc_.dtype, total));
    });
    const StmtPtr add = loop::make_block({copy(acc_.id, sums), end, copy(sums, acc_.id)});
    auto when_long = [&](const StmtPtr& s) { return is_long ? loop::make_if(is_long, s) : s; };
    blocks.insert(blocks.begin(), when_long(clear));
    blocks.push_back(when_long(add));
    const StmtPtr all = loop::make_block(std::move(blocks));
    return memory_ ? loop::make_alloc(*memory_, all) : all;
  }

  // `s` where it is known to have no more terms than a block.
  StmtPtr short_of(const StmtPtr& s) const {
    return loop::rewrite(s, [&](const StmtPtr& l) {
      if (l->kind != StmtKind::For || is_lane(l) || l->extent.is_const()) return l;
      return loop::make_for(l->var, expr::min(block_, l->extent), l->for_kind, l->body[0]);
    });
  }

 private:
  bool is_put(const Stmt& s) const {
    return s.kind == StmtKind::Store && s.buffer != acc_.id && s.store_kind == StoreKind::Assign;
  }
  // Whether the iterations of a loop have elements of their own.
  bool is_lane(const StmtPtr& l) const {
    return l->for_kind == ForKind::Vector || l->for_kind == ForKind::Unroll || lanes_.count(l->var) > 0;
  }
  using Body = std::function<StmtPtr(const std::vector<Dim>&)>;

  expr::Scalar wide(BufferId sums, const std::vector<Dim>& at) const {
    return expr::make_cast(DType::F64, expr::make_load(e_.ctx, sums, acc_.dtype, at));
  }
  StmtPtr copy(BufferId from, BufferId to) {
    if (from == to) return loop::make_block({});
    return each(
        [&](const std::vector<Dim>& at) { return loop::make_store(to, at, expr::make_load(e_.ctx, from, acc_.dtype, at)); });
  }
  // The elements go to their totals and start again.
  StmtPtr take(StoreKind how) {
    auto clear = [&](const std::vector<Dim>& at) {
      return loop::make_store(acc_.id, at, expr::make_const(e_.ctx, acc_.dtype, 0));
    };
    if (!memory_)
      return each([&](const std::vector<Dim>& at) {
        return loop::make_block({loop::make_store(totals_.id, at, wide(acc_.id, at), how), clear(at)});
      });
    const StmtPtr add = each_summed(
        [&](const std::vector<Dim>& at) { return loop::make_store(totals_.id, at, wide(memory_->id, at), how); });
    return loop::make_block({copy(acc_.id, memory_->id), add, each(clear)});
  }
  StmtPtr each_summed(const Body& body) { return memory_ ? each(body, ForKind::Serial) : each(body); }
  // For each element, in vectors along the last axis that has several.
  StmtPtr each(const Body& body) {
    return each(body, shared_ && acc_.scope == Scope::Scratch ? ForKind::Serial : ForKind::Unroll);
  }
  StmtPtr each(const Body& body, ForKind outer) {
    std::vector<Dim> at;
    for (auto& [extent, last] : axes_)
      at.push_back(extent.is_const(1) ? e_.ctx.constant(0) : e_.derived_index(totals_.name + ".v", extent, last));
    StmtPtr s = body(at);
    ForKind kind = ForKind::Vector;
    for (size_t k = at.size(); k-- > 0;) {
      const Dim extent = axes_[k].first;
      if (extent.is_const(1)) continue;
      s = loop::make_for(*at[k].as_symbol(), extent, extent.is_const() ? kind : ForKind::Serial, s);
      kind = outer;
    }
    return s;
  }

  Edit& e_;
  const Buffer& acc_;
  Buffer totals_;
  Dim block_;
  const bool shared_;
  std::optional<Buffer> memory_;               // what the accumulators are copied to, where they are many
  std::set<SymbolId> lanes_;                   // loops whose variable is an axis of the accumulator
  std::vector<std::pair<Dim, int64_t>> axes_;  // of the accumulator, as far as they are used, and the highest place
};

}  // namespace

Status Schedule::carry(std::string_view buffer, std::string_view at, int64_t block, std::string_view name, Short how) {
  Edit e(*this, "carry", buffer, "at", at, block, "->", name, how == Short::Shared ? "shared" : "");
  const Buffer acc = TRY(e.find_buffer(buffer));
  const StmtPtr home = TRY(e.find_loop(at));
  if (block < 1) return e.refuse("a block has at least one term");
  if (acc.dtype != DType::F32 && acc.dtype != DType::F64) return e.refuse("%" + acc.name + " holds no f32 or f64");
  const bool fits = !acc.shape.empty() && std::all_of(acc.shape.begin(), acc.shape.end(), [](Dim d) {
    return d.is_const() && d.const_value() > 0 && d.const_value() <= kMostLanes;
  });
  if (!fits) return e.refuse("%" + acc.name + " has no constant size of at most " + std::to_string(kMostLanes) + " lanes");
  if (home->for_kind != ForKind::Serial) return e.refuse("loop " + std::string(at) + " is " + loop::name_of(home->for_kind));
  Buffer totals{.id = TRY(e.new_buffer(name)),
                .name = std::string(name),
                .dtype = DType::F64,
                .shape = acc.shape,
                .strides = {},
                .scope = acc.scope == Scope::Local ? Scope::Local : Scope::Scratch};
  Carry carry(e, acc, totals, block, home, how);
  if (!carry.only_adds(home)) return e.refuse("loop " + std::string(at) + " does more than to add to %" + acc.name);
  const Dim most = e.ctx.constant(block), terms = carry.terms(home);
  if (const auto var = uses_bound(terms, home))
    return e.refuse("how many terms there are depends on " + e.name_of(*var) + ", which is inside " + std::string(at));
  if (e.ctx.proves_less_equal(terms, most)) return e.refuse("no sum has more than " + std::to_string(block) + " terms");
  const bool has_few = !e.ctx.proves_less(most, terms);
  if (how == Short::Shared) {
    totals.shape = carry.shape_of_totals();
    // Memory that short sums do not use is not there.
    if (has_few && totals.scope == Scope::Scratch && check_known(e, terms).ok())
      totals.shape[0] = totals.shape[0] * min(e.ctx.constant(1), floordiv(terms, block + 1));
    const std::vector<StmtPtr> path = e.enclosing(home);
    const StmtPtr around = path.empty() ? home : path.back();
    std::vector<StmtPtr> before = around->kind == StmtKind::Block ? around->body : std::vector<StmtPtr>{home};
    const auto here = std::find(before.begin(), before.end(), home);
    const auto end = std::find_if(here + 1, before.end(), [&](const StmtPtr& s) { return !carry.adds_few(s); });
    std::vector<StmtPtr> sums{carry.in_blocks(home)}, behind(end, before.end());
    sums.insert(sums.end(), here + 1, end);
    before.erase(here, before.end());
    before.push_back(loop::make_alloc(
        std::move(totals), carry.around_all(std::move(sums), has_few ? expr::less(most, terms) : expr::Scalar{})));
    before.insert(before.end(), behind.begin(), behind.end());
    e.replace(around->kind == StmtKind::Block ? around : home, loop::make_block(std::move(before)));
    return e.commit();
  }
  const StmtPtr few = has_few ? e.copy(carry.short_of(home)) : nullptr;
  StmtPtr now = carry.around(carry.in_blocks(carry.behind_totals(home)));
  if (few) now = loop::make_if(expr::less(most, terms), now, few);
  e.replace(home, loop::make_alloc(std::move(totals), now));
  return e.commit();
}

}  // namespace pliant::schedule
