#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

expr::Scalar rewrite_power(expr::Scalar) { return {}; }

}  // namespace pliant::codegen::rules
