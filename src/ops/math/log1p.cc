// log(1 + x), accurate near 0.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_log1p() { return make_unary_op("math.log1p", "log(1 + x), accurate near 0.", expr::UnaryOp::Log1p); }

}  // namespace pliant::ops
