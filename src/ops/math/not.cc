// The negation of a bool.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_not() { return make_unary_op("math.not", "The negation of a bool.", expr::UnaryOp::Not, {.domain = kBools}); }

}  // namespace pliant::ops
