// a and b.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_and() { return make_binary_op("math.and", "a and b.", expr::BinaryOp::And, kBools); }

}  // namespace pliant::ops
