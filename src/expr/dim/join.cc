// Sums in which quotients and remainders of one division meet:
//
//   floordiv(x, c)*c + mod(x, c)                          x
//   floordiv(x, q*b)*q + floordiv(mod(x, q*b), b)         floordiv(x, b)
//
// and the same with a common factor of both terms. So an index that is taken apart and put together is the index again.
#include <algorithm>

#include "expr/dim/polynomial.h"

namespace pliant::expr {
namespace {

bool by_id(const Term& a, const Term& b) { return a.first->id < b.first->id; }

// The coefficient of a monomial in sorted terms.
int64_t coefficient_in(const Terms& terms, const Monomial* m) {
  auto it =
      std::lower_bound(terms.begin(), terms.end(), m, [](const Term& t, const Monomial* v) { return t.first->id < v->id; });
  return it != terms.end() && it->first == m ? it->second : 0;
}

// How many times every term of `part` but a constant is in `whole` with one sign: the number of least magnitude, or 0.
int64_t times_contained(const Terms& whole, Dim part) {
  int64_t times = 0;
  bool first = true;
  for (const auto& [m, k] : part->terms) {
    if (is_one(m)) continue;
    const int64_t n = coefficient_in(whole, m) / k;
    if (n == 0 || (!first && (n < 0) != (times < 0))) return 0;
    if (first || std::abs(n) < std::abs(times)) times = n;
    first = false;
  }
  return times;
}

// floordiv(x, c)*c + mod(x, c) is x; so for every common factor of the two. Where mod(x, c) is a constant, the first
// is enough.
std::optional<Dim> join_remainder(Context& ctx, const Terms& terms) {
  for (const auto& [m, k] : terms) {
    if (!m->has_quotient) continue;
    for (const auto& [atom, power] : m->factors) {
      if (atom->kind != AtomKind::FloorDiv) continue;
      const Dim x = atom->args[0], c = atom->args[1];
      const Monomial* others = divide(ctx, m, Interner::monomial(ctx, {{atom, 1}}));
      const Monomial* rest = divide(ctx, others, c->terms.back().first);
      if (!rest) continue;
      const Dim by = dim_of_term(ctx, rest, 1);
      Terms product;  // atom * c * rest, which must not be joined itself
      for (const auto& [cm, ck] : c->terms) {
        product.emplace_back(multiply(ctx, multiply(ctx, cm, rest), Interner::monomial(ctx, {{atom, 1}})), ck);
      }
      std::sort(product.begin(), product.end(), by_id);
      const Dim quotient = Interner::dim(ctx, std::move(product));
      const int64_t quotients = times_contained(terms, quotient);
      if (quotients == 0) continue;
      const Dim remainder = mod(x, c) * by;
      int64_t times = quotients;
      if (!mod(x, c).is_const()) {
        const int64_t remainders = times_contained(terms, remainder);
        if (remainders == 0 || (remainders < 0) != (quotients < 0)) continue;
        if (std::abs(remainders) < std::abs(times)) times = remainders;
      }
      Terms left;
      if (!add_scaled(terms, quotient->terms, -times, left)) continue;
      return Interner::dim(ctx, std::move(left)) + (x * by - remainder) * times;
    }
  }
  return std::nullopt;
}

// floordiv(x, q*b)*q + floordiv(mod(x, q*b), b) is floordiv(x, b); so for every common factor of both.
std::optional<Dim> join_parts(Context& ctx, const Terms& terms) {
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto& [low_unit, low] = terms[i];
    for (const auto& [atom, power] : low_unit->factors) {
      if (atom->kind != AtomKind::FloorDiv || !is_single_term(atom->args[1])) continue;
      const Atom* inner = as_atom(atom->args[0]);
      if (!inner || inner->kind != AtomKind::Mod || !is_single_term(inner->args[1])) continue;
      const auto& [n, n_factor] = inner->args[1]->terms[0];
      const auto& [b, b_factor] = atom->args[1]->terms[0];
      const Monomial* q = divide(ctx, n, b);
      if (!q || n_factor % b_factor != 0) continue;
      const Atom* whole = as_atom(floordiv(inner->args[0], inner->args[1]));
      if (!whole) continue;
      const Monomial* rest = divide(ctx, low_unit, Interner::monomial(ctx, {{atom, 1}}));
      const Monomial* high_unit = multiply(ctx, multiply(ctx, rest, q), Interner::monomial(ctx, {{whole, 1}}));
      int64_t high;
      if (mul_overflows(low, n_factor / b_factor, &high)) continue;
      for (size_t k = 0; k < terms.size(); ++k) {
        if (terms[k].first != high_unit || terms[k].second / high < 1) continue;
        Terms others = terms;
        others[k].second -= high;
        others[i].second = 0;
        std::erase_if(others, [](const Term& t) { return t.second == 0; });
        return Interner::dim(ctx, std::move(others)) + dim_of_term(ctx, rest, low) * floordiv(inner->args[0], atom->args[1]);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Dim> join_quotients(Context& ctx, const Terms& terms) {
  if (std::optional<Dim> joined = join_remainder(ctx, terms)) return joined;
  return join_parts(ctx, terms);
}

}  // namespace pliant::expr
