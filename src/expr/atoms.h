// Dims taken apart, and put together again.
#pragma once
#include "expr/expr.h"

namespace pliant::expr {

// The atom when `d` is just that; else null.
const Atom* as_atom(Dim d);
Dim dim_of_atom(Context& ctx, const Atom& atom);
Dim dim_of_term(Context& ctx, const Monomial* m, int64_t coefficient);

}  // namespace pliant::expr
