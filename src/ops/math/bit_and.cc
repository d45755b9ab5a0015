// Bitwise and.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_bit_and() { return make_binary_op("math.bit_and", "Bitwise and.", expr::BinaryOp::BitAnd, kInts); }

}  // namespace pliant::ops
