// 1 / (1 + exp(-x)).
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_sigmoid() { return make_unary_op("math.sigmoid", "1 / (1 + exp(-x)).", expr::UnaryOp::Sigmoid); }

}  // namespace pliant::ops
