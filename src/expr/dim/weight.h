// How large expressions of sizes are, written out.
#pragma once
#include "expr/expr.h"

namespace pliant::expr {

// Terms, factors and what is in them, parts that occur several times counted each time; at most kHeaviest.
constexpr int64_t kHeaviest = int64_t{1} << 30;
int64_t weight_of(Dim d);
// A size that weighs more gets a symbol of its own. Polynomials of this weight are quick to compute with, and few models
// have larger ones.
constexpr int64_t kMostWeight = 64;

}  // namespace pliant::expr
