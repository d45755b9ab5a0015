// Whether a is at most b.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_le() { return make_binary_op("math.le", "Whether a is at most b.", expr::BinaryOp::Le, kNumbers); }

}  // namespace pliant::ops
