// The cosine.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_cos() { return make_unary_op("math.cos", "The cosine.", expr::UnaryOp::Cos); }

}  // namespace pliant::ops
