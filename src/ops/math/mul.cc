// a * b with broadcasting.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_mul() { return make_binary_op("math.mul", "a * b with broadcasting.", expr::BinaryOp::Mul, kNumbers); }

}  // namespace pliant::ops
