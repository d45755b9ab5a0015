#include "frontend/core/facts.h"

namespace pliant::frontend {

using expr::AtomKind;
using expr::Context;
using expr::Dim;
using expr::SymbolId;

namespace {

// x where the condition, as it is `holds`, says x == 0: the conditions of Equal are 1 - min(1, max(x, -x)).
std::optional<Dim> zero_by(Dim condition, bool holds, Context& ctx) {
  Dim away = holds ? 1 - condition : condition;
  if (away->terms.size() != 1 || away->terms[0].second != 1 || away->terms[0].first->factors.size() != 1)
    return std::nullopt;
  const auto& [atom, power] = away->terms[0].first->factors[0];
  if (power != 1 || atom->kind != AtomKind::Min || atom->args.size() != 2) return std::nullopt;
  size_t one = atom->args[0].is_const(1) ? 0 : 1;
  if (!atom->args[one].is_const(1)) return std::nullopt;
  Dim distance = atom->args[1 - one];
  for (const auto& [m, coefficient] : distance->terms) {
    if (distance->terms.size() != 1 || coefficient != 1 || m->factors.size() != 1) break;
    const expr::Atom& a = *m->factors[0].first;
    if (a.kind == AtomKind::Max && a.args.size() == 2 && a.args[0] == -a.args[1]) return a.args[0];
  }
  return ctx.proves_less_equal(ctx.constant(0), distance) ? std::optional(distance) : std::nullopt;
}

// A symbol and what it equals where x == 0.
std::optional<std::pair<SymbolId, Dim>> solve(Dim x) {
  for (SymbolId s : expr::symbols_of(x)) {
    std::optional<Dim> c = expr::coefficient_of(x, s);
    if (!c || !(c->is_const(1) || c->is_const(-1))) continue;
    Dim rest = expr::substitute(x, {{s, x->ctx->constant(0)}});
    return std::pair(s, c->is_const(1) ? -rest : rest);
  }
  return std::nullopt;
}

std::optional<bool> truth(Dim d, Context& ctx) {
  const expr::Interval r = ctx.range(d);
  if (r.lo == 0 && r.hi == 0) return false;
  if (r.lo > 0 || r.hi < 0) return true;
  return std::nullopt;
}

}  // namespace

std::optional<bool> decide(Dim condition, const Facts& facts, Context& ctx) {
  if (auto known = truth(condition, ctx)) return known;
  for (const auto& [fact, holds] : facts) {
    if (condition == fact || ctx.proves_equal(condition, fact)) return holds;
    if (ctx.proves_equal(condition, 1 - fact)) return !holds;
    std::optional<Dim> zero = zero_by(fact, holds, ctx);
    auto solved = zero ? solve(*zero) : std::nullopt;
    if (!solved) continue;
    if (auto known = truth(expr::substitute(condition, {{solved->first, solved->second}}), ctx)) return known;
  }
  return std::nullopt;
}

}  // namespace pliant::frontend
