// The nearest integer, ties to even; integers pass unchanged.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_round() {
  return make_unary_op("math.round", "The nearest integer, ties to even; integers pass unchanged.", expr::UnaryOp::Round,
                       {.ints_unchanged = true});
}

}  // namespace pliant::ops
