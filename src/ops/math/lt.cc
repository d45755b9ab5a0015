// Whether a is less than b.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_lt() { return make_binary_op("math.lt", "Whether a is less than b.", expr::BinaryOp::Lt, kNumbers); }

}  // namespace pliant::ops
