// Rules that make_binary applies to operands that are not both constant. Internal to expr.
#pragma once
#include <optional>

#include "expr/expr.h"

namespace pliant::expr {

// What `a op b` simplifies to; nothing when no rule fits.
std::optional<Scalar> simplify_binary(BinaryOp op, Scalar a, Scalar b);

}  // namespace pliant::expr
