// The hyperbolic tangent.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_tanh() { return make_unary_op("math.tanh", "The hyperbolic tangent.", expr::UnaryOp::Tanh); }

}  // namespace pliant::ops
