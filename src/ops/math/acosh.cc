// The inverse hyperbolic cosine.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_acosh() { return make_unary_op("math.acosh", "The inverse hyperbolic cosine.", expr::UnaryOp::Acosh); }

}  // namespace pliant::ops
