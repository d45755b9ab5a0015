// Four products of bytes in one step: an i32 that holds four unsigned ones, times another that holds four signed ones,
// added.
#pragma once
#include <array>

#include "expr/expr.h"

namespace pliant::expr {

// Four u8 in one i32, the first lowest.
Scalar make_quad(const std::array<Scalar, 4>& bytes);
// The sum of u8(byte n of a) * i8(byte n of b), which wraps.
Scalar quad_product(Scalar a, Scalar b);
// (a, b) where `s` is quad_product(a, b).
std::optional<std::pair<Scalar, Scalar>> as_quad_product(Scalar s);
// The load of the first where `s` is make_quad of four neighbouring elements of a one-dimensional tensor.
std::optional<Scalar> as_loaded_quad(Scalar s);

}  // namespace pliant::expr
