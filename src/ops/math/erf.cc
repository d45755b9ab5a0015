// The error function.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

OpDef op_math_erf() { return make_unary_op("math.erf", "The error function.", expr::UnaryOp::Erf); }

}  // namespace pliant::ops
