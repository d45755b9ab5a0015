#include "lower/movement/cut.h"

#include <algorithm>
#include <unordered_map>

#include "expr/scalar/with_args.h"
#include "lower/reduction/clip.h"

namespace pliant::lower {

namespace {

std::optional<Cut> cut_of(expr::Context& ctx, Scalar condition, const Loop& l) {
  if (condition->kind != expr::ScalarKind::Binary || !expr::loads_of(condition).empty()) return std::nullopt;
  const bool strict = condition->binary() == expr::BinaryOp::Lt;
  if (!strict && condition->binary() != expr::BinaryOp::Le) return std::nullopt;
  const std::optional<Dim> low = as_dim(condition->args[0]), high = as_dim(condition->args[1]);
  if (!low || !high) return std::nullopt;
  const bool before = low->as_symbol() == l.var;
  if (!before && high->as_symbol() != l.var) return std::nullopt;
  const Dim other = before ? *high : *low;
  if (expr::uses_symbol(other, l.var)) return std::nullopt;
  // Beyond the loop everything is alike; so close to it the sum cannot overflow.
  const Dim near = max(ctx.constant(-1), min(other, l.extent));
  return Cut{condition, strict == before ? near : near + 1, before};
}

class Assumption {
 public:
  Assumption(Scalar condition, bool holds) : condition_(condition), holds_(holds) {}
  Scalar visit(Scalar s) {
    if (s == condition_) return expr::make_const_bits(*s->ctx, DType::Bool, holds_ ? 1 : 0);
    if (s->args.empty()) return s;
    if (auto found = known_.find(s.node()); found != known_.end()) return found->second;
    return known_[s.node()] = rebuild(s);
  }

 private:
  Scalar rebuild(Scalar s) {
    std::vector<Scalar> args;
    for (Scalar a : s->args) args.push_back(visit(a));
    if (args == s->args) return s;
    return s->kind == expr::ScalarKind::Binary ? binary(s, args) : expr::with_args(s, args);
  }

  static Scalar binary(Scalar s, const std::vector<Scalar>& args) {
    for (size_t k = 0; k < 2 && s->dtype == DType::Bool; ++k) {
      if (args[k]->kind != expr::ScalarKind::Const) continue;
      const bool value = args[k]->bits != 0;
      if (s->binary() == expr::BinaryOp::And) return value ? args[1 - k] : args[k];
      if (s->binary() == expr::BinaryOp::Or) return value ? args[k] : args[1 - k];
    }
    return expr::make_binary(s->binary(), args[0], args[1]);
  }

  Scalar condition_;
  bool holds_;
  std::unordered_map<const expr::ScalarNode*, Scalar> known_;
};

}  // namespace

std::optional<Cut> find_cut(expr::Context& ctx, const target::Target& target, const std::vector<Scalar>& scalars,
                            const Loop& l) {
  constexpr int64_t kMostCost = 24;
  int64_t cost = 0;
  for (Scalar s : scalars) cost += cost_of(s);
  // Positions are compared in 64 bits: of smaller elements a vector has several such comparisons.
  const bool has_small = std::any_of(scalars.begin(), scalars.end(), [](Scalar s) { return byte_size(s->dtype) < 4; });
  if (cost > kMostCost || (target.masked_memory && !has_small)) return std::nullopt;
  std::optional<Cut> found;
  for (Scalar s : scalars)
    for_each_scalar(s, [&](Scalar t) {
      if (!found) found = cut_of(ctx, t, l);
    });
  return found;
}

Scalar assume(Scalar s, Scalar condition, bool holds) { return Assumption(condition, holds).visit(s); }

loop::StmtPtr make_cut_loop(expr::Context& ctx, Dim length, int64_t lanes, Tail tail, Dim at,
                            const std::function<loop::StmtPtr(Side, Dim)>& body) {
  auto name = [&](const char* text) {
    expr::SymbolInfo info;
    info.name = text;
    return ctx.symbol(std::move(info));
  };
  const Dim whole = floordiv(length, lanes), zero = ctx.constant(0);
  const Dim cut = name("cut"), before = name("before"), mixed = name("mixed");
  auto elements = [&](Side side, Dim from, Dim count) {
    return make_vector_loop(ctx, count, lanes, [&](Dim v) { return body(side, from * lanes + v); }, tail);
  };
  loop::StmtPtr st =
      loop::make_block({elements(Before, zero, before * lanes), elements(Either, before, (mixed - before) * lanes),
                        elements(After, mixed, (whole - mixed) * lanes), elements(Either, whole, mod(length, lanes))});
  st = loop::make_let(*mixed.as_symbol(), min(ceildiv(cut, lanes), whole), st);
  st = loop::make_let(*before.as_symbol(), floordiv(cut, lanes), st);
  return loop::make_let(*cut.as_symbol(), max(zero, min(at, length)), st);
}

}  // namespace pliant::lower
