// Whether a is greater than b.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_gt() { return make_binary_op("math.gt", "Whether a is greater than b.", expr::BinaryOp::Gt, kNumbers); }

}  // namespace pliant::ops
