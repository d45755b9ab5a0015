// The inverse sine.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_asin() { return make_unary_op("math.asin", "The inverse sine.", expr::UnaryOp::Asin); }

}  // namespace pliant::ops
