// a shifted right by b bits.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_shr() { return make_binary_op("math.shr", "a shifted right by b bits.", expr::BinaryOp::Shr, kInts); }

}  // namespace pliant::ops
