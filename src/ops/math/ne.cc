// Whether a differs from b.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_ne() { return make_binary_op("math.ne", "Whether a differs from b.", expr::BinaryOp::Ne, kAny); }

}  // namespace pliant::ops
