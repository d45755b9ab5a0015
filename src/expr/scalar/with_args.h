// An operation over other operands.
#pragma once
#include <span>

#include "expr/expr.h"

namespace pliant::expr {

// What `s` computes, over `args` in the place of its own; they may be of another Context. `s` is a Unary, Binary, Select,
// Cast, Bitcast or Fma, the kinds whose operands are all scalars.
Scalar with_args(Scalar s, std::span<const Scalar> args);

}  // namespace pliant::expr
