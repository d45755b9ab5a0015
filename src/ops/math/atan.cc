// The inverse tangent.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_atan() { return make_unary_op("math.atan", "The inverse tangent.", expr::UnaryOp::Atan); }

}  // namespace pliant::ops
