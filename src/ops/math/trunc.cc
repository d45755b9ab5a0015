// x without its fraction; integers pass unchanged.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_trunc() {
  return make_unary_op("math.trunc", "x without its fraction; integers pass unchanged.", expr::UnaryOp::Trunc,
                       {.ints_unchanged = true});
}

}  // namespace pliant::ops
