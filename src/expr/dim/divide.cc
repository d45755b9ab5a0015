// Division of polynomials with remainder.
#include <algorithm>

#include "expr/dim/polynomial.h"

namespace pliant::expr {
namespace {

bool lead_less(const Term& x, const Term& y) { return lex_less(x.first, y.first); }

// Division by one term, where no sum joins: each term of `a` by itself. Nothing on overflow.
std::optional<Division> divide_by_term(Dim a, const Term& by) {
  Context& ctx = *a->ctx;
  Terms terms = a->terms, quotient, remainder;
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return lead_less(y, x); });
  for (const auto& [monomial, coefficient] : terms) {
    const Monomial* m = divide(ctx, monomial, by.first);
    int64_t k = m ? coefficient / by.second : 0;
    if (is_one(monomial) && is_one(by.first) && coefficient - k * by.second < 0) --k;
    int64_t taken;
    if (mul_overflows(k, by.second, &taken)) return std::nullopt;
    if (k != 0) quotient.emplace_back(m, k);
    if (coefficient != taken) remainder.emplace_back(monomial, coefficient - taken);
  }
  const std::optional<Dim> q = sum_of(ctx, std::move(quotient)), r = sum_of(ctx, std::move(remainder));
  if (!q || !r) return std::nullopt;
  return Division{*q, *r};
}

}  // namespace

Division divide_with_remainder(Dim a, Dim b) {
  Context& ctx = *a->ctx;
  if (is_single_term(b) && a->terms.size() < kMaxTerms && !b->terms[0].first->has_quotient && !has_quotients(a->terms))
    if (std::optional<Division> out = divide_by_term(a, b->terms[0])) return *out;
  const Term lead = *std::max_element(b->terms.begin(), b->terms.end(), lead_less);
  Division out{ctx.constant(0), ctx.constant(0)};
  Dim left = a;
  for (size_t step = 0; !left->terms.empty() && step < kMaxTerms; ++step) {
    const Term t = *std::max_element(left->terms.begin(), left->terms.end(), lead_less);
    const Monomial* m = divide(ctx, t.first, lead.first);
    int64_t k = m ? t.second / lead.second : 0;
    if (m && is_one(t.first) && b.is_const() && t.second - k * lead.second < 0) --k;  // b > 0
    if (k != 0) {
      const Dim q = dim_of_term(ctx, m, k);
      out.quotient = out.quotient + q;
      left = left - q * b;
    }
    const Dim residue = dim_of_term(ctx, t.first, t.second - k * lead.second);
    out.remainder = out.remainder + residue;
    left = left - residue;
  }
  out.remainder = out.remainder + left;
  return out;
}

}  // namespace pliant::expr
