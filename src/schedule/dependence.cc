#include "schedule/dependence.h"

#include <algorithm>

#include "expr/parts.h"

namespace pliant::schedule {

std::vector<Access> accesses_of(const StmtPtr& with_lets) {
  const StmtPtr root = without_lets(with_lets);
  std::vector<Access> out;
  std::set<BufferId> inner;
  loop::for_each(root, [&](const Stmt& s) {
    if (s.alloc) inner.insert(s.alloc->id);
    loop::for_each_load(s, [&](Scalar l) { out.push_back({l->tensor, l->index}); });
    if (s.kind == StmtKind::Store) out.push_back({s.buffer, s.index, true, s.store_kind});
  });
  std::erase_if(out, [&](const Access& a) { return inner.count(a.buffer) > 0; });
  return out;
}

std::vector<Access> accesses_of(const StmtPtr& s, BufferId buffer) {
  std::vector<Access> all = accesses_of(s);
  std::erase_if(all, [&](const Access& a) { return a.buffer != buffer; });
  return all;
}

namespace {

bool uses_any(Dim d, const Extents& vary) {
  return std::any_of(vary.begin(), vary.end(), [&](auto& v) { return expr::uses_symbol(d, v.first); });
}

// The operands of the min that `extent` is which no loop of `vary` changes.
std::optional<Dim> fixed_limit(Dim extent, const Extents& vary) {
  const expr::Atom* a = expr::as_atom(extent);
  if (!a || a->kind != expr::AtomKind::Min) return std::nullopt;
  std::optional<Dim> fixed;
  for (Dim d : a->args)
    if (!uses_any(d, vary)) fixed = fixed ? expr::min(*fixed, d) : d;
  return fixed;
}

// `d` with `v` replaced by its value at one end of [0, extent).
Dim at_end(Dim d, Dim coefficient, SymbolId v, Dim extent, const Extents& vary, bool want_low, Ends ends,
           expr::Context& ctx) {
  bool positive = ctx.proves_less_equal(ctx.constant(0), coefficient);
  if (positive == want_low) return expr::substitute(d, {{v, ctx.constant(0)}});
  // Of what cuts a tile, one may leave nothing that varies: start + min(size, whole - start) is at most whole.
  if (const expr::Atom* cut = expr::as_atom(extent); cut && cut->kind == expr::AtomKind::Min && uses_any(extent, vary))
    for (Dim limit : cut->args)
      if (const Dim end = expr::substitute(d, {{v, limit - 1}}); !uses_any(end, vary)) return end;
  int64_t highest = ctx.range(extent).hi;
  bool constant = ends == Ends::Constant && highest > 0 && highest < INT64_MAX;
  if (ends == Ends::Constant && uses_any(extent, vary))
    if (const auto limit = fixed_limit(extent, vary)) return expr::substitute(d, {{v, *limit - 1}});
  return expr::substitute(d, {{v, constant ? ctx.constant(highest - 1) : extent - 1}});
}

// One end of the range of `d`: affine variables are eliminated from the innermost outwards; other terms are replaced by the
// constant bounds that the Context knows.
std::optional<Dim> end_of(Dim d, const Extents& vary, bool want_low, Ends ends, expr::Context& ctx) {
  for (auto v = vary.rbegin(); v != vary.rend(); ++v) {
    if (!expr::uses_symbol(d, v->first)) continue;
    auto c = expr::coefficient_of(d, v->first);
    if (!c || uses_any(*c, vary)) continue;
    bool signed_known = ctx.proves_less_equal(ctx.constant(0), *c) || ctx.proves_less_equal(*c, ctx.constant(0));
    if (signed_known) d = at_end(d, *c, v->first, v->second, vary, want_low, ends, ctx);
  }
  if (!uses_any(d, vary)) return d;
  Dim sum = ctx.constant(0);
  for (auto& [monomial, coefficient] : d->terms) {
    Dim term = expr::dim_of_term(ctx, monomial, coefficient);
    if (uses_any(term, vary)) {
      expr::Interval range = ctx.range(term);
      int64_t end = want_low ? range.lo : range.hi;
      if (end == INT64_MIN || end == INT64_MAX) return std::nullopt;
      term = ctx.constant(end);
    }
    sum = sum + term;
  }
  return sum;
}

// Pairs of Dims that are equal when the elements are: one a dimension, and x where floordiv(x, n) and mod(x, n) are among
// them.
std::vector<std::pair<Dim, Dim>> equations(const Access& a, const Access& b) {
  std::vector<std::pair<Dim, Dim>> eq;
  for (size_t k = 0; k < a.index.size(); ++k) eq.emplace_back(a.index[k], b.index[k]);
  auto has = [&](const std::pair<Dim, Dim>& p) { return std::find(eq.begin(), eq.end(), p) != eq.end(); };
  for (size_t k = 0; k < eq.size(); ++k) {
    const expr::Atom *x = expr::as_atom(eq[k].first), *y = expr::as_atom(eq[k].second);
    if (!x || !y || x->kind != expr::AtomKind::FloorDiv || y->kind != expr::AtomKind::FloorDiv || x->args[1] != y->args[1])
      continue;
    std::pair<Dim, Dim> whole{x->args[0], y->args[0]};
    if (!has(whole) && has({expr::mod(x->args[0], x->args[1]), expr::mod(y->args[0], y->args[1])})) {
      eq.push_back(whole);
      k = SIZE_MAX;  // from the first again
    }
  }
  return eq;
}

// `x` and `y` are c*v + rest, c*w + rest' where v and w are known to be equal or at least one apart: whether x == y forces v
// == w.
bool apart(Dim c, Dim rest_x, Dim rest_y, const Extents& vary, expr::Context& ctx) {
  // A loop of at most c iterations that has one: c is positive.
  const bool runs = std::any_of(vary.begin(), vary.end(), [&](auto& v) {
    return expr::uses_symbol(rest_x, v.first) && (v.second == c || fixed_limit(v.second, vary) == c);
  });
  if (!runs && !ctx.proves_less(ctx.constant(0), c)) c = -c;
  if (!runs && !ctx.proves_less(ctx.constant(0), c)) return false;
  for (Ends ends : {Ends::Exact, Ends::Constant}) {
    auto r = bounds_of(rest_x, vary, ctx, ends), s = bounds_of(rest_y, vary, ctx, ends);
    if (r && s && ctx.proves_less(r->hi - s->lo, c) && ctx.proves_less(s->hi - r->lo, c)) return true;
  }
  return false;
}

// Whether x == y forces equal values of `var`.
bool forces(Dim x, Dim y, SymbolId var, const Extents& vary, expr::Context& ctx) {
  auto c = expr::coefficient_of(x, var), d = expr::coefficient_of(y, var);
  if (!c || !d || *c != *d || c->is_const(0) || uses_any(*c, vary)) return false;
  Dim v = ctx.symbol_dim(var);
  return apart(*c, x - *c * v, y - *c * v, vary, ctx);
}

// The same where `var` is the outer loop of tiles, which do not overlap.
bool forces_tile(Dim x, Dim y, SymbolId var, const Extents& vary, const Edit& e) {
  auto rest_of = [&](Dim d, const LoopTile& t) -> std::optional<std::pair<Dim, Dim>> {
    if (!t.one_outer || t.outer != var) return std::nullopt;
    auto c = expr::coefficient_of(d, t.inner);
    if (!c || c->is_const(0) || uses_any(*c, vary)) return std::nullopt;
    Dim rest = d - *c * (t.start + e.ctx.symbol_dim(t.inner));
    if (expr::uses_symbol(rest, var)) return std::nullopt;
    return std::pair{*c, rest};
  };
  for (const LoopTile& t : e.tiles) {
    auto left = rest_of(x, t);
    if (!left) continue;
    for (const LoopTile& u : e.tiles) {
      auto right = rest_of(y, u);
      if (right && u.start == t.start && right->first == left->first &&
          apart(left->first, left->second, right->second, vary, e.ctx))
        return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Bounds> bounds_of(Dim d, const Extents& vary, expr::Context& ctx, Ends ends) {
  auto lo = end_of(d, vary, true, ends, ctx), hi = end_of(d, vary, false, ends, ctx);
  if (!lo || !hi) return std::nullopt;
  return Bounds{*lo, *hi};
}

std::set<SymbolId> determined(const Access& a, const Access& b, const std::set<SymbolId>& candidates, const Extents& vary,
                              const Edit& e) {
  std::set<SymbolId> known;
  auto eq = equations(a, b);
  // An index that is read from memory may be anything.
  std::erase_if(eq, [](auto& q) {
    return !expr::loads_of(expr::make_index(q.first)).empty() || !expr::loads_of(expr::make_index(q.second)).empty();
  });
  for (bool more = true; more;) {
    more = false;
    Extents open;
    for (auto& v : vary)
      if (!known.count(v.first)) open.push_back(v);
    for (SymbolId var : candidates) {
      if (known.count(var)) continue;
      bool fixed = std::any_of(eq.begin(), eq.end(), [&](auto& q) {
        return forces(q.first, q.second, var, open, e.ctx) || forces_tile(q.first, q.second, var, open, e);
      });
      if (!fixed) continue;
      known.insert(var);
      more = true;
      break;
    }
  }
  return known;
}

bool ordered(const Access& a, const Access& b) {
  if (a.buffer != b.buffer || (!a.is_store && !b.is_store)) return false;
  return !(a.is_update() && b.is_update() && a.kind == b.kind);
}

std::optional<BufferId> carried(const std::vector<Access>& first, const std::vector<Access>& second, SymbolId var,
                                const Extents& vary, const Edit& e) {
  for (const Access& a : first)
    for (const Access& b : second)
      if (ordered(a, b) && !determined(a, b, {var}, vary, e).count(var)) return a.buffer;
  return std::nullopt;
}

}  // namespace pliant::schedule
