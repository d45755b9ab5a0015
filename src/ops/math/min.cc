// The smaller of a and b; NaN wins.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_min() {
  return make_binary_op("math.min", "The smaller of a and b; NaN wins.", expr::BinaryOp::Min, kNumbers);
}

}  // namespace pliant::ops
