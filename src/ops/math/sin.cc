// The sine.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_sin() { return make_unary_op("math.sin", "The sine.", expr::UnaryOp::Sin); }

}  // namespace pliant::ops
