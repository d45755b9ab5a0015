// Several small integers in one i32, the first lowest: what instructions that sum products of neighbours take.
#pragma once
#include <array>

#include "expr/expr.h"

namespace pliant::expr {

// Two i32 whose values fit i16.
Scalar pack2(Scalar low, Scalar high);
// Four u8.
Scalar pack4(const std::array<Scalar, 4>& bytes);
// Part `k` of a word of integers of type `t`, which has 8 or 16 bits, as an i32.
Scalar part_of(Scalar word, DType t, int64_t k);
// The load of the first where `s` is pack4 of four neighbouring elements of a one-dimensional tensor.
std::optional<Scalar> as_loaded_word(Scalar s);

}  // namespace pliant::expr
