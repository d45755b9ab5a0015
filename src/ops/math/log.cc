// The natural logarithm.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_log() { return make_unary_op("math.log", "The natural logarithm.", expr::UnaryOp::Log); }

}  // namespace pliant::ops
