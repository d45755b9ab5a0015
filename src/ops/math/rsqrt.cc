// 1 / sqrt(x).
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_rsqrt() { return make_unary_op("math.rsqrt", "1 / sqrt(x).", expr::UnaryOp::Rsqrt); }

}  // namespace pliant::ops
