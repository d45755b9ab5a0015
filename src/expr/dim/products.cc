#include "expr/dim/products.h"

#include <algorithm>
#include <map>

#include "expr/interner.h"

namespace pliant::expr {

std::vector<Product> products_of(Dim d, const std::function<bool(const Atom&)>& varies) {
  Context& ctx = *d->ctx;
  std::map<const Monomial*, std::pair<size_t, Terms>> parts;  // by the product of varying atoms: its number, and the rest
  for (const auto& [monomial, coefficient] : d->terms) {
    Factors fixed, varying;
    for (const auto& factor : monomial->factors) (varies(*factor.first) ? varying : fixed).push_back(factor);
    auto& [number, terms] =
        parts.try_emplace(Interner::monomial(ctx, std::move(varying)), parts.size(), Terms()).first->second;
    terms.push_back({Interner::monomial(ctx, std::move(fixed)), coefficient});
  }
  std::vector<Product> out(parts.size());
  for (auto& [varying, part] : parts) {
    Terms& terms = part.second;
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.first->id < b.first->id; });
    out[part.first] = {Interner::dim(ctx, std::move(terms)), varying->factors};
  }
  return out;
}

}  // namespace pliant::expr
