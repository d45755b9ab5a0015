// e to the power x.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_exp() { return make_unary_op("math.exp", "e to the power x.", expr::UnaryOp::Exp); }

}  // namespace pliant::ops
