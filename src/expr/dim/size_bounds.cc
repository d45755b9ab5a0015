#include "expr/dim/size_bounds.h"

#include <algorithm>

#include "expr/parts.h"

namespace pliant::expr {

namespace {

// Replacements of one size; each takes the innermost symbol that it can.
constexpr int kReplacements = 32;

}  // namespace

void SizeBounds::add(SymbolId s, Kind kind, std::optional<Dim> upper) { symbols_[s] = {kind, upper, symbols_.size()}; }

bool SizeBounds::uses_inner(Dim d) const {
  for (SymbolId s : symbols_of(d))
    if (binds(s)) return true;
  return false;
}

bool SizeBounds::is_outer(Dim d) const { return !uses_inner(d) && loads_of(make_index(d)).empty(); }

bool SizeBounds::is_nonnegative(Dim d) const { return ctx_.proves_less_equal(ctx_.constant(0), d); }

std::optional<Dim> SizeBounds::bound(Dim d, Side side, Query& q) const {
  for (int k = 0; k < kReplacements; ++k) {
    if (is_outer(d)) return d;
    std::optional<Dim> next = eliminate(d, side, q);
    if (!next) break;
    d = *next;
  }
  return is_outer(d) ? d : of_terms(d, side, q);
}

std::optional<Dim> SizeBounds::of_symbol(SymbolId s, Side side, Query& q) const {
  const Symbol& symbol = symbols_.at(s);
  if (symbol.kind == Kind::Data) q.is_reached = false;
  if (side == Side::Lower) {
    const int64_t lo = ctx_.info(s).lo;
    return lo == INT64_MIN ? std::nullopt : std::optional<Dim>(ctx_.constant(lo));
  }
  if (symbol.kind == Kind::Idle) {
    if (!q.limits) return std::nullopt;
    q.is_reached = false;
  }
  return symbol.upper;
}

std::optional<Dim> SizeBounds::eliminate(Dim d, Side side, Query& q) const {
  std::vector<SymbolId> inner;
  for (SymbolId s : symbols_of(d))
    if (binds(s)) inner.push_back(s);
  std::sort(inner.begin(), inner.end(), [&](SymbolId a, SymbolId b) { return symbols_.at(a).order > symbols_.at(b).order; });
  for (SymbolId s : inner) {
    const std::optional<Dim> c = coefficient_of(d, s);
    if (!c) continue;
    const bool rises = is_nonnegative(*c);
    if (!rises && !is_nonnegative(-*c)) continue;
    if (std::optional<Dim> b = of_symbol(s, rises ? side : other(side), q)) return substitute(d, {{s, *b}});
  }
  return std::nullopt;
}

std::optional<Dim> SizeBounds::of_terms(Dim d, Side side, Query& q) const {
  Dim sum = ctx_.constant(0);
  for (const auto& [monomial, coefficient] : d->terms) {
    std::optional<Dim> b = of_product(*monomial, coefficient > 0 ? side : other(side), q);
    if (!b) return of_range(d, side, q);
    sum = sum + *b * coefficient;
  }
  return sum;
}

// Factors that are not negative: the product rises with each.
std::optional<Dim> SizeBounds::of_product(const Monomial& m, Side side, Query& q) const {
  if (m.factors.size() == 1 && m.factors[0].second == 1) return of_atom(*m.factors[0].first, side, q);
  Dim product = ctx_.constant(1);
  for (const auto& [atom, power] : m.factors) {
    if (!is_nonnegative(dim_of_atom(ctx_, *atom))) return std::nullopt;
    std::optional<Dim> b = of_atom(*atom, side, q);
    if (!b) return std::nullopt;
    if (!is_nonnegative(*b)) b = max(*b, ctx_.constant(0));
    for (uint32_t k = 0; k < power; ++k) product = product * *b;
  }
  return product;
}

std::optional<Dim> SizeBounds::of_atom(const Atom& a, Side side, Query& q) const {
  const Dim d = dim_of_atom(ctx_, a);
  if (is_outer(d)) return d;
  std::optional<Dim> out;
  switch (a.kind) {
    case AtomKind::Symbol:
      if (std::optional<Dim> b = of_symbol(a.symbol, side, q)) out = bound(*b, side, q);
      break;
    case AtomKind::Value: break;
    case AtomKind::FloorDiv: out = of_quotient(a, side, q); break;
    case AtomKind::Mod: out = of_remainder(a, side, q); break;
    case AtomKind::Min: out = of_extremum(a, side, side == Side::Lower, q); break;
    case AtomKind::Max: out = of_extremum(a, side, side == Side::Upper, q); break;
    case AtomKind::Broadcast: out = of_extremum(a, side, true, q); break;
  }
  return out ? out : of_range(d, side, q);
}

std::optional<Dim> SizeBounds::of_quotient(const Atom& a, Side side, Query& q) const {
  const Dim by = a.args[1];
  std::optional<Dim> x = bound(a.args[0], side, q);
  if (!x) return std::nullopt;
  if (is_outer(by)) return floordiv(*x, by);
  if (!is_nonnegative(a.args[0])) return std::nullopt;
  std::optional<Dim> y = bound(by, other(side), q);
  if (!y) return std::nullopt;
  return floordiv(*x, max(*y, ctx_.constant(1)));
}

std::optional<Dim> SizeBounds::of_remainder(const Atom& a, Side side, Query& q) const {
  q.is_reached = false;
  if (side == Side::Lower) return ctx_.constant(0);
  if (std::optional<Dim> by = bound(a.args[1], side, q)) return *by - 1;
  return is_nonnegative(a.args[0]) ? bound(a.args[0], side, q) : std::nullopt;
}

std::optional<Dim> SizeBounds::of_extremum(const Atom& a, Side side, bool all, Query& q) const {
  // A broadcast is one of its arguments.
  const bool lowest = a.kind == AtomKind::Min || (a.kind == AtomKind::Broadcast && side == Side::Lower);
  std::optional<Dim> out;
  for (Dim arg : a.args) {
    std::optional<Dim> b = bound(arg, side, q);
    if (!b) {
      if (all) return std::nullopt;
      q.is_reached = false;
      continue;
    }
    out = !out ? *b : lowest ? min(*out, *b) : max(*out, *b);
  }
  return out;
}

std::optional<Dim> SizeBounds::of_range(Dim d, Side side, Query& q) const {
  const Interval r = ctx_.range(d);
  const int64_t v = side == Side::Upper ? r.hi : r.lo;
  if (v == INT64_MAX || v == INT64_MIN) return std::nullopt;
  q.is_reached = false;
  return ctx_.constant(v);
}

}  // namespace pliant::expr
