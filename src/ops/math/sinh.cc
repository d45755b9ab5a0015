// The hyperbolic sine.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_sinh() { return make_unary_op("math.sinh", "The hyperbolic sine.", expr::UnaryOp::Sinh); }

}  // namespace pliant::ops
