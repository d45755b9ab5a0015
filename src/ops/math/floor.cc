// The largest integer not above x; integers pass unchanged.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_floor() {
  return make_unary_op("math.floor", "The largest integer not above x; integers pass unchanged.", expr::UnaryOp::Floor,
                       {.ints_unchanged = true});
}

}  // namespace pliant::ops
