// Exactly one of a and b.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_xor() { return make_binary_op("math.xor", "Exactly one of a and b.", expr::BinaryOp::Xor, kBools); }

}  // namespace pliant::ops
