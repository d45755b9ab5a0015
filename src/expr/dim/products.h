// Polynomials taken apart by some of their atoms.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "expr/expr.h"

namespace pliant::expr {

// A Dim is the sum of `fixed * varying` over its products.
struct Product {
  Dim fixed;
  std::vector<std::pair<const Atom*, uint32_t>> varying;  // with powers
};
// The products of `d` whose varying atoms are those that `varies` names, each combination of these once.
std::vector<Product> products_of(Dim d, const std::function<bool(const Atom&)>& varies);

}  // namespace pliant::expr
