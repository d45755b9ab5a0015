#include "ops/control/region_sizes.h"

namespace pliant::ops {

using expr::Dim;
using expr::SymbolId;

bool is_outside(Dim d, SymbolId first) {
  for (SymbolId s : expr::symbols_of(d))
    if (s >= first) return false;
  return true;
}

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

Dim larger(Dim a, Dim b, expr::Context& ctx) {
  if (ctx.proves_less_equal(a, b)) return b;
  return ctx.proves_less_equal(b, a) ? a : expr::max(a, b);
}

std::string first_node(const LocPtr& loc) {
  std::vector<std::string> nodes = model_nodes(loc);
  return nodes.empty() ? std::string() : nodes.front();
}

Dim fresh_size(const std::string& what, std::optional<Dim> upper, const LocPtr& loc, expr::Context& ctx) {
  expr::SymbolInfo info;
  std::string node = first_node(loc);
  info.name = node.empty() ? what : node + "_" + what;
  if (upper) info.hi = ctx.range(*upper).hi;
  info.upper = upper;
  info.origin = {expr::Origin::Kind::Data, node, 0};
  return ctx.symbol(std::move(info));
}

}  // namespace pliant::ops
