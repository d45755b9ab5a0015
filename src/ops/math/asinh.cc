// The inverse hyperbolic sine.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_asinh() { return make_unary_op("math.asinh", "The inverse hyperbolic sine.", expr::UnaryOp::Asinh); }

}  // namespace pliant::ops
