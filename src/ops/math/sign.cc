// -1, 0 or 1 by the sign of x.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_sign() {
  return make_unary_op("math.sign", "-1, 0 or 1 by the sign of x.", expr::UnaryOp::Sign, {.domain = kNumbers});
}

}  // namespace pliant::ops
