// How large expressions of sizes are, written out.
#pragma once
#include "expr/expr.h"

namespace pliant::expr {

// Terms, factors and what is in them, parts that occur several times counted each time; at most kHeaviest.
constexpr int64_t kHeaviest = int64_t{1} << 30;
int64_t weight_of(Dim d);

}  // namespace pliant::expr
