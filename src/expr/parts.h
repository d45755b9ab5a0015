// Expressions taken apart, and put together again.
#pragma once
#include <vector>

#include "expr/expr.h"

namespace pliant::expr {

// The atom when `d` is just that; else null.
const Atom* as_atom(Dim d);
Dim dim_of_atom(Context& ctx, const Atom& atom);
Dim dim_of_term(Context& ctx, const Monomial* m, int64_t coefficient);
// `s` as a Dim, where it is an index or a constant of i64.
std::optional<Dim> as_index(Scalar s);
// The loads that are made whatever the conditions inside `s` are, each once.
std::vector<Scalar> unconditional_loads(Scalar s);
// Whether an index that uses `var` is a value, outside of load offsets (an Iota, a guard).
bool uses_as_value(Scalar s, SymbolId var);
// The terms of a conjunction, from left to right.
std::vector<Scalar> conjuncts_of(Scalar s);
// The conjunction of the terms; null where there is none.
Scalar conjunction(const std::vector<Scalar>& terms);

}  // namespace pliant::expr
