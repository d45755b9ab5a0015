// Loop indices by what they were asked for.
#pragma once
#include <vector>

#include "expr/expr.h"

namespace pliant::expr {

// The loop indices of `ctx` that were asked for by this name, with this `hi` and `upper`, oldest first.
std::vector<SymbolId> find_indices(Context& ctx, const SymbolInfo& like);

}  // namespace pliant::expr
