// The smallest integer not below x; integers pass unchanged.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_ceil() {
  return make_unary_op("math.ceil", "The smallest integer not below x; integers pass unchanged.", expr::UnaryOp::Ceil,
                       {.ints_unchanged = true});
}

}  // namespace pliant::ops
