#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

expr::Scalar rewrite_remainder(expr::Scalar) { return {}; }

}  // namespace pliant::codegen::rules
