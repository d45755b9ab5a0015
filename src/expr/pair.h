// Two products of i16 in one step: an i32 that holds a pair, times another, added.
#pragma once
#include "expr/expr.h"

namespace pliant::expr {

// The pair (low, high), i32 whose values fit i16, in one i32.
Scalar make_pair(Scalar low, Scalar high);
// low(a) * low(b) + high(a) * high(b).
Scalar pair_product(Scalar a, Scalar b);
// (a, b) where `s` is pair_product(a, b).
std::optional<std::pair<Scalar, Scalar>> as_pair_product(Scalar s);

}  // namespace pliant::expr
