// The square root.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_sqrt() { return make_unary_op("math.sqrt", "The square root.", expr::UnaryOp::Sqrt); }

}  // namespace pliant::ops
