// for i in min(C, X) { S }  ->  for i in C { S }, where the iterations beyond X compute values that nothing reads.
//
// They may write only elements [.., i, ..] of local or scratch buffers, which every other access reaches by a loop that runs
// just as far as this one did: what lies beyond is uninitialised in the program as it was. What they read must be inside its
// buffer.
#include "loop/lexer.h"
#include "schedule/dependence.h"
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

class Pad {
 public:
  Pad(const Edit& e, const StmtPtr& loop, int64_t limit)
      : e_(e), loop_(loop), limit_(limit), i_(e.ctx.symbol_dim(loop->var)) {
    loop::for_each(e.function.body, [&](const Stmt& s) {
      if (s.kind == StmtKind::For) extents_[s.var] = s.extent;
    });
    around_ = e.enclosing_loops(loop);
    around_.emplace_back(loop->var, e.ctx.constant(limit));
    for (auto& inner : loops_below(loop->body[0])) around_.push_back(inner);
  }

  Status check() const {
    Status bad = ok();
    loop::for_each(loop_->body[0], [&](const Stmt& s) {
      if (bad.ok()) bad = statement(s);
    });
    return bad;
  }

 private:
  std::string name_of(BufferId id) const { return "%" + loop::find_buffer(e_.function, id)->name; }

  Status statement(const Stmt& s) const {
    if (s.kind == StmtKind::Check) return e_.refuse("loop " + e_.name_of(loop_->var) + " holds a check");
    if (s.kind == StmtKind::For && expr::uses_symbol(s.extent, loop_->var))
      return e_.refuse("the extent of loop " + e_.name_of(s.var) + " depends on " + e_.name_of(loop_->var));
    std::vector<Scalar> loads;
    if (s.value) loads = expr::loads_of(s.value);
    Status bad = ok();
    loop::for_each_dim(s, [&](Dim d) {
      for (Scalar l : expr::loads_of(expr::make_index(d))) loads.push_back(l);
    });
    for (Scalar l : loads)
      if (bad.ok()) bad = inside(l->tensor, l->index, "reads");
    if (!bad.ok() || s.kind != StmtKind::Store) return bad;
    TRY(inside(s.buffer, s.index, "writes"));
    return unused_beyond(s);
  }

  // The access stays inside the buffer in the further iterations too.
  Status inside(BufferId id, const std::vector<Dim>& index, const char* what) const {
    const Buffer& b = *loop::find_buffer(e_.function, id);
    for (size_t k = 0; k < index.size(); ++k) {
      if (!expr::uses_symbol(index[k], loop_->var)) continue;
      auto bounds = bounds_of(index[k], around_, e_.ctx);
      bool fits =
          bounds && e_.ctx.proves_less_equal(e_.ctx.constant(0), bounds->lo) && e_.ctx.proves_less(bounds->hi, b.shape[k]);
      if (!fits) {
        // Bounds of outer loops that do not enclose this access in the worst case: their own facts may say more.
        Dim last = expr::substitute(index[k], {{loop_->var, e_.ctx.constant(limit_ - 1)}});
        Dim first = expr::substitute(index[k], {{loop_->var, e_.ctx.constant(0)}});
        for (Dim end : {first, last})
          if (!e_.ctx.proves_less_equal(e_.ctx.constant(0), end) || !e_.ctx.proves_less(end, b.shape[k]))
            return e_.refuse("the body " + std::string(what) + " " + name_of(id) + ", which may end before iteration " +
                             std::to_string(limit_ - 1) + " of " + e_.name_of(loop_->var));
      }
    }
    return ok();
  }

  // Dimension `k` is indexed by a loop that runs, or ran, as far as the padded one.
  bool same_reach(Dim index) const {
    auto v = index.as_symbol();
    if (!v) return false;
    if (auto it = e_.padded.find(*v); it != e_.padded.end() && it->second == loop_->extent) return true;
    auto it = extents_.find(*v);
    return it != extents_.end() && it->second == loop_->extent;
  }

  Status unused_beyond(const Stmt& store) const {
    const Buffer& b = *loop::find_buffer(e_.function, store.buffer);
    if (b.scope == Scope::Param) return e_.refuse("the body writes the param " + name_of(b.id));
    std::optional<size_t> at;
    for (size_t k = 0; k < store.index.size(); ++k) {
      if (!expr::uses_symbol(store.index[k], loop_->var)) continue;
      if (store.index[k] != i_ || at)
        return e_.refuse("the body writes " + name_of(b.id) + " at an index that is not just " + e_.name_of(loop_->var));
      at = k;
    }
    if (!at) return e_.refuse("every iteration writes the same element of " + name_of(b.id));
    StmtPtr home = e_.alloc_of(b.id);
    for (const Access& a : accesses_of(home->body[0]))
      if (a.buffer == b.id && !same_reach(a.index[*at]))
        return e_.refuse("another access reaches " + name_of(b.id) + " by a loop of another extent");
    return ok();
  }

  const Edit& e_;
  const StmtPtr loop_;
  int64_t limit_;
  Dim i_;
  std::map<SymbolId, Dim> extents_;
  Extents around_;
};

}  // namespace

Status Schedule::pad(std::string_view name) {
  Edit e(*this, trace_line({"pad", loop::quote_name(name)}));
  StmtPtr s = TRY(e.find_loop(name));
  if (s->extent.is_const()) return e.refuse("the extent of loop " + std::string(name) + " is constant");
  if (s->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(name) + " is parallel");
  auto tail = tail_of(s->extent, e.ctx);
  if (!tail) return e.refuse("the extent of loop " + std::string(name) + " has no constant bound");
  TRY(Pad(e, s, tail->limit).check());
  StmtPtr wide = widened(e, s, tail->limit);
  e.padded[wide->var] = s->extent;
  e.replace(s, loop::make_for(wide->var, e.ctx.constant(tail->limit), wide->for_kind, wide->body[0]));
  return e.commit();
}

}  // namespace pliant::schedule
