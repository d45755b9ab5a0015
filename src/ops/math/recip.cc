// 1 / x.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_recip() { return make_unary_op("math.recip", "1 / x.", expr::UnaryOp::Recip); }

}  // namespace pliant::ops
