// The larger of a and b; NaN wins.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_max() { return make_binary_op("math.max", "The larger of a and b; NaN wins.", expr::BinaryOp::Max, kNumbers); }

}  // namespace pliant::ops
