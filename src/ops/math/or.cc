// a or b.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_or() { return make_binary_op("math.or", "a or b.", expr::BinaryOp::Or, kBools); }

}  // namespace pliant::ops
