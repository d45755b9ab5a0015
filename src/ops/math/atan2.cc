// The angle of the point (b, a).
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_atan2() {
  return make_binary_op("math.atan2", "The angle of the point (b, a).", expr::BinaryOp::Atan2, kFloats);
}

}  // namespace pliant::ops
