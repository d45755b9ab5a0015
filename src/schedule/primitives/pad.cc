// for i in X { S }  ->  for i in C { S } for X of at most C, where the iterations beyond X compute values that nothing
// reads.
//
// They may write only elements [.., i, ..] of local or scratch buffers, which every other access reaches by a loop that runs
// just as far as this one did: what lies beyond is uninitialised in the program as it was. What they read must be inside its
// buffer.
#include <algorithm>

#include "schedule/dependence.h"
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

class Pad {
 public:
  // `same`: the further iterations do what the others do.
  Pad(const Edit& e, const StmtPtr& loop, int64_t limit, bool same)
      : e_(e), loop_(loop), limit_(limit), same_(same), i_(e.ctx.symbol_dim(loop->var)) {
    around_ = e.enclosing_loops(loop);
    around_.emplace_back(loop->var, e.ctx.constant(limit));
    for (auto& inner : loops_below(loop->body[0])) around_.push_back(inner);
  }

  Status check() {
    Status bad = ok();
    loop::for_each(loop_->body[0], [&](const Stmt& s) {
      if (bad.ok()) bad = statement(s);
    });
    return bad;
  }

  const std::map<BufferId, size_t>& grown() const { return grown_; }

 private:
  std::string name_of(BufferId id) const { return "%" + loop::find_buffer(e_.function, id)->name; }

  Status statement(const Stmt& s) {
    if (s.kind == StmtKind::Check) return e_.refuse("loop " + e_.name_of(loop_->var) + " holds a check");
    if (s.kind == StmtKind::For && expr::uses_symbol(s.extent, loop_->var))
      return e_.refuse("the extent of loop " + e_.name_of(s.var) + " depends on " + e_.name_of(loop_->var));
    std::vector<Scalar> loads;
    if (s.value && same_) loads = expr::loads_of(s.value);
    Status bad = ok();
    loop::for_each_dim(s, [&](Dim d) {
      for (Scalar l : expr::loads_of(expr::make_index(d))) loads.push_back(l);
    });
    for (Scalar l : loads)
      if (bad.ok()) bad = inside(l->tensor, l->index, "reads");
    if (!bad.ok() || s.kind != StmtKind::Store) return bad;
    TRY(inside(s.buffer, s.index, "writes"));
    TRY(axis_beyond(e_, loop_, s));
    return ok();
  }

  // The access stays inside the buffer in the further iterations too, when a tile that the loop writes may grow.
  Status inside(BufferId id, const std::vector<Dim>& index, const char* what) {
    const Buffer& b = *loop::find_buffer(e_.function, id);
    for (size_t k = 0; k < index.size(); ++k) {
      if (!expr::uses_symbol(index[k], loop_->var)) continue;
      const bool grows = b.scope != Scope::Param && b.strides.empty() && index[k] == i_;
      if (grows && e_.ctx.proves_less_equal(b.shape[k], e_.ctx.constant(limit_))) {
        if (!b.shape[k].is_const(limit_)) grown_[id] = k;
        continue;
      }
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

  const Edit& e_;
  const StmtPtr loop_;
  int64_t limit_;
  bool same_;
  std::map<BufferId, size_t> grown_;  // and the dimension in which it does
  Dim i_;
  Extents around_;
};

// Whether the loop has an iteration: by proof, or because a tile of that extent has one wherever its place is known.
bool has_iteration(const Edit& e, Dim extent) {
  if (e.ctx.proves_less_equal(e.ctx.constant(1), extent)) return true;
  auto follows_from = [&](const LoopTile& t) {
    const auto symbols = expr::symbols_of(t.start);
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](SymbolId s) { return expr::uses_symbol(extent, s) && !e.symbols.count(s); });
  };
  bool found = false;
  loop::for_each(e.function.body, [&](const Stmt& s) {
    for (const LoopTile& t : e.tiles)
      found = found || (s.kind == StmtKind::For && s.var == t.inner && s.extent == extent && follows_from(t));
  });
  return found;
}

// The loop with iterations up to `width` in which the further ones assign zero, or what the last one does.
Result<StmtPtr> filled(Edit& e, const StmtPtr& s, int64_t width, Beyond beyond) {
  const StmtPtr wide = widened(e, s, width);
  bool assigns = true;
  loop::for_each(wide->body[0], [&](const Stmt& x) {
    const bool stores = x.kind == StmtKind::Store && (beyond == Beyond::Last || x.store_kind == StoreKind::Assign);
    assigns = assigns && (x.kind == StmtKind::Block || x.kind == StmtKind::For || stores);
  });
  if (!assigns) return e.refuse("the body of loop " + e.name_of(wide->var) + " does more than to assign");
  if (beyond == Beyond::Last && !has_iteration(e, s->extent))
    return e.refuse("loop " + e.name_of(wide->var) + " may have no iteration");
  const Dim i = e.ctx.symbol_dim(wide->var);
  StmtPtr body = loop::rewrite(wide->body[0], [&](const StmtPtr& x) -> StmtPtr {
    if (x->kind != StmtKind::Store) return x;
    if (beyond == Beyond::Last)
      return loop::make_store(x->buffer, x->index, expr::substitute(x->value, {{wide->var, expr::min(i, s->extent - 1)}}),
                              x->store_kind);
    return loop::make_if(expr::less(i, s->extent), x,
                         loop::make_store(x->buffer, x->index, expr::make_const(e.ctx, x->value->dtype, 0)));
  });
  return loop::make_for(wide->var, s->extent, wide->for_kind, body);
}

// `index` walks through as many elements as `loop` does: by a loop that runs, or ran, as far.
bool same_reach(const Edit& e, const StmtPtr& loop, Dim index) {
  if (index == e.ctx.symbol_dim(loop->var)) return true;
  if (const auto v = index.as_symbol()) {
    if (auto it = e.padded.find(*v); it != e.padded.end() && it->second == loop->extent) return true;
    const auto runs = [&](const Stmt& s) { return s.kind == StmtKind::For && s.var == *v && s.extent == loop->extent; };
    if (find_first(e.function.body, runs)) return true;
  }
  return std::any_of(e.tiles.begin(), e.tiles.end(), [&](const LoopTile& t) {
    return t.extent && t.extent == loop->extent && index == t.start + e.ctx.symbol_dim(t.inner);
  });
}

}  // namespace

Result<size_t> axis_beyond(const Edit& e, const StmtPtr& loop, const Stmt& store) {
  const Buffer& b = *loop::find_buffer(e.function, store.buffer);
  const std::string name = "%" + b.name;
  if (b.scope == Scope::Param) return e.refuse("the body writes the param " + name);
  std::optional<size_t> at;
  for (size_t k = 0; k < store.index.size(); ++k) {
    if (!expr::uses_symbol(store.index[k], loop->var)) continue;
    if (store.index[k] != e.ctx.symbol_dim(loop->var) || at)
      return e.refuse("the body writes " + name + " at an index that is not just " + e.name_of(loop->var));
    at = k;
  }
  if (!at) return e.refuse("every iteration writes the same element of " + name);
  bool same = true;
  const auto visit = [&](BufferId id, const std::vector<Dim>& index) {
    same = same && (id != b.id || same_reach(e, loop, index[*at]));
  };
  loop::for_each(e.alloc_of(b.id)->body[0], [&](const Stmt& s) {
    if (s.kind == StmtKind::Store) visit(s.buffer, s.index);
    loop::for_each_load(s, [&](Scalar l) { visit(l->tensor, l->index); });
  });
  if (!same) return e.refuse("another access reaches " + name + " by a loop of another extent");
  return *at;
}

void grow(Edit& e, const std::map<BufferId, size_t>& axes, const std::function<Dim(Dim)>& size) {
  if (axes.empty()) return;
  e.set_body(loop::rewrite(e.function.body, [&](const StmtPtr& s) -> StmtPtr {
    const auto axis = s->alloc ? axes.find(s->alloc->id) : axes.end();
    if (axis == axes.end()) return s;
    Buffer b = *s->alloc;
    b.shape[axis->second] = size(b.shape[axis->second]);
    return loop::make_alloc(std::move(b), s->body[0]);
  }));
}

Status Schedule::pad(std::string_view name, int64_t width, Beyond beyond) {
  Edit e(*this, "pad", name, width, beyond == Beyond::Zero ? "zero" : beyond == Beyond::Last ? "last" : "");
  StmtPtr s = TRY(e.find_loop(name));
  if (!e.ctx.proves_less_equal(s->extent, e.ctx.constant(width)))
    return e.refuse("loop " + std::string(name) + " may have more iterations than " + std::to_string(width));
  if (s->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(name) + " is parallel");
  Pad pad(e, s, width, beyond == Beyond::Same);
  TRY(pad.check());
  const StmtPtr wide = beyond == Beyond::Same ? widened(e, s, width) : TRY(filled(e, s, width, beyond));
  e.padded[wide->var] = s->extent;
  e.replace(s, loop::make_for(wide->var, e.ctx.constant(width), wide->for_kind, wide->body[0]));
  grow(e, pad.grown(), [&](Dim) { return e.ctx.constant(width); });
  return e.commit();
}

}  // namespace pliant::schedule
