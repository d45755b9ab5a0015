// Whether a equals b.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_eq() { return make_binary_op("math.eq", "Whether a equals b.", expr::BinaryOp::Eq, kAny); }

}  // namespace pliant::ops
