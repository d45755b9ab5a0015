// The magnitude of x.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_abs() { return make_unary_op("math.abs", "The magnitude of x.", expr::UnaryOp::Abs, {.domain = kNumbers}); }

}  // namespace pliant::ops
