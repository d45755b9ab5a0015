// a shifted left by b bits.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_shl() { return make_binary_op("math.shl", "a shifted left by b bits.", expr::BinaryOp::Shl, kInts); }

}  // namespace pliant::ops
