// a / b with broadcasting; integers truncate, and division by zero gives 0.
#include "ops/elementwise.h"

namespace pliant::ops {

OpDef op_math_div() {
  return make_binary_op("math.div", "a / b with broadcasting; integers truncate, and division by zero gives 0.",
                        expr::BinaryOp::Div, kNumbers);
}

}  // namespace pliant::ops
