// The tangent.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_tan() { return make_unary_op("math.tan", "The tangent.", expr::UnaryOp::Tan); }

}  // namespace pliant::ops
