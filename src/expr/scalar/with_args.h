// Operations over other operands.
#pragma once
#include <span>

#include "expr/expr.h"

namespace pliant::expr {

// What `s` computes, over `args` in the place of its own; they may be of another Context. `s` is a Unary, Binary, Select,
// Cast, Bitcast or Fma, the kinds whose operands are all scalars.
Scalar with_args(Scalar s, std::span<const Scalar> args);
// `s` where `dim` gives what stands for each Dim among its indices and those of its operands.
Scalar with_dims(Scalar s, const std::function<Dim(Dim)>& dim);

}  // namespace pliant::expr
