// a - b with broadcasting.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_sub() { return make_binary_op("math.sub", "a - b with broadcasting.", expr::BinaryOp::Sub, kNumbers); }

}  // namespace pliant::ops
