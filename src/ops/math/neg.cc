// -x, element by element.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_neg() {
  return make_unary_op("math.neg", "-x, element by element.", expr::UnaryOp::Neg, {.domain = kNumbers});
}

}  // namespace pliant::ops
