// Constant folding: one operation on constants, by the arithmetic of arith.h. Internal to expr.
#pragma once
#include "expr/expr.h"

namespace pliant::expr {

// The bits of results, in the encoding of ScalarNode::bits.
uint64_t fold_unary(UnaryOp op, DType t, uint64_t x);
uint64_t fold_binary(BinaryOp op, DType t, uint64_t a, uint64_t b);
uint64_t fold_cast(DType to, DType from, uint64_t x);
uint64_t fold_bitcast(DType to, DType from, uint64_t x);
uint64_t fold_fma(DType t, uint64_t a, uint64_t b, uint64_t c);
uint64_t bits_of(DType t, double v);
uint64_t bits_of_int(DType t, int64_t v);

}  // namespace pliant::expr
