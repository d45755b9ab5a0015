// a + b with broadcasting.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_add() { return make_binary_op("math.add", "a + b with broadcasting.", expr::BinaryOp::Add, kNumbers); }

}  // namespace pliant::ops
