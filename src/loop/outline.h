// Kernels over sizes that they are given: equal loops at sizes of other expressions become one kernel.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "loop/loop.h"

namespace pliant::loop {

// The expressions of free symbols in `f` that are more than a sum of two products of symbols, as long as they can be, in
// order of first occurrence: min(floordiv(n, 2)*3, n), a + b + c.
std::vector<Dim> outlined_sizes(const Function& f, expr::Context& ctx);
// `f` with a symbol, new and with the same range, for each of the sizes: a caller gives their values. Variables of loops are
// new as well. What is known of the sizes beyond their ranges is lost.
struct Outlined {
  Function function;
  std::vector<std::pair<SymbolId, Dim>> sizes;
};
Outlined outline_sizes(const Function& f, expr::Context& ctx);

// What functions that differ only in outlined sizes have in common, and some others too: no index takes part.
std::string outline_key(const Function& f);

}  // namespace pliant::loop
