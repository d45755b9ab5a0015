// The inverse hyperbolic tangent.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_atanh() { return make_unary_op("math.atanh", "The inverse hyperbolic tangent.", expr::UnaryOp::Atanh); }

}  // namespace pliant::ops
