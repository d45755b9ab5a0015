#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

expr::Scalar rewrite_exponential(expr::Scalar) { return {}; }

}  // namespace pliant::codegen::rules
