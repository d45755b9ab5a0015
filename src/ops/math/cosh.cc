// The hyperbolic cosine.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_cosh() { return make_unary_op("math.cosh", "The hyperbolic cosine.", expr::UnaryOp::Cosh); }

}  // namespace pliant::ops
