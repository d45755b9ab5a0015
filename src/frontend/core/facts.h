// Conditions on sizes that hold where the import stands: those of the branches around it.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "expr/expr.h"

namespace pliant::frontend {

// Conditions, 0 or 1, and whether each holds; the innermost branch's last.
using Facts = std::vector<std::pair<expr::Dim, bool>>;

// Whether `condition`, which is 0 where it does not hold, holds wherever the facts do; nothing where that depends on the
// run.
std::optional<bool> decide(expr::Dim condition, const Facts& facts, expr::Context& ctx);

}  // namespace pliant::frontend
