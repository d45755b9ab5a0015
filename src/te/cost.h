// What expressions cost when they are computed.
#pragma once
#include <functional>

#include "te/te.h"

namespace pliant::te {

// Visits `s` and everything below it once; loads inside gathered indices are not entered.
void for_each_scalar(Scalar s, const std::function<void(Scalar)>& visit);
// Scalar operations in `s`, transcendental functions weighing more.
int64_t cost_of(Scalar s);
// True when `s` holds a function of many instructions (exp, tanh, a division …), which is worth storing rather than
// repeating.
bool is_costly(Scalar s);

}  // namespace pliant::te
