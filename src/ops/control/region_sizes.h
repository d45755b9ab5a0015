// Sizes that a region gives, described without the symbols that are its own: those made while it was built.
#pragma once
#include <optional>
#include <string>

#include "graph/graph.h"

namespace pliant::ops {

// Symbols from `first` on belong to the region.
bool is_outside(expr::Dim d, expr::SymbolId first);
// A bound of `d` over outer symbols: those of the region that raise d are replaced by their bounds.
std::optional<expr::Dim> bound_outside(expr::Dim d, expr::SymbolId first, expr::Context& ctx);
// The larger of two sizes, proved where it can be.
expr::Dim larger(expr::Dim a, expr::Dim b, expr::Context& ctx);
// A size known only when the node has run.
expr::Dim fresh_size(const std::string& what, std::optional<expr::Dim> upper, const LocPtr& loc, expr::Context& ctx);
// The name of the model's first node below `loc`, or nothing.
std::string first_node(const LocPtr& loc);

}  // namespace pliant::ops
