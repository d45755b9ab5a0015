// Bitwise exclusive or.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_bit_xor() { return make_binary_op("math.bit_xor", "Bitwise exclusive or.", expr::BinaryOp::BitXor, kInts); }

}  // namespace pliant::ops
