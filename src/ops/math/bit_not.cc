// Every bit flipped.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_bit_not() {
  return make_unary_op("math.bit_not", "Every bit flipped.", expr::UnaryOp::BitNot, {.domain = kInts});
}

}  // namespace pliant::ops
