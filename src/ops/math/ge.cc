// Whether a is at least b.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_ge() { return make_binary_op("math.ge", "Whether a is at least b.", expr::BinaryOp::Ge, kNumbers); }

}  // namespace pliant::ops
