// The inverse cosine.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_acos() { return make_unary_op("math.acos", "The inverse cosine.", expr::UnaryOp::Acos); }

}  // namespace pliant::ops
