// Bitwise or.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_bit_or() { return make_binary_op("math.bit_or", "Bitwise or.", expr::BinaryOp::BitOr, kInts); }

}  // namespace pliant::ops
