// exp(x) - 1, accurate near 0.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_expm1() { return make_unary_op("math.expm1", "exp(x) - 1, accurate near 0.", expr::UnaryOp::Expm1); }

}  // namespace pliant::ops
