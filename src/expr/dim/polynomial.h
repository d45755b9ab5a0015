// Arithmetic on canonical polynomials, below the public operators. Internal to expr.
#pragma once
#include <algorithm>
#include <optional>
#include <utility>

#include "expr/interner.h"
#include "expr/parts.h"

namespace pliant::expr {

// INT64_MIN counts as an overflow, so that every coefficient can be negated.
inline bool add_overflows(int64_t a, int64_t b, int64_t* out) {
  return __builtin_add_overflow(a, b, out) || *out == INT64_MIN;
}
inline bool mul_overflows(int64_t a, int64_t b, int64_t* out) {
  return __builtin_mul_overflow(a, b, out) || *out == INT64_MIN;
}
// No product has more terms.
constexpr size_t kMaxTerms = 2048;
// Sorts terms and merges those of one monomial; false on overflow.
bool merge(Terms& terms);
// Whether a sum of such terms may join (join.cc).
inline bool has_quotients(const Terms& terms) {
  return std::any_of(terms.begin(), terms.end(), [](const Term& t) { return t.first->has_quotient; });
}
// The sum of terms in any order; nothing on overflow. What it is does not depend on the order.
std::optional<Dim> sum_of(Context& ctx, Terms terms);
// out = a + k * b on sorted terms; false on overflow.
bool add_scaled(const Terms& a, const Terms& b, int64_t k, Terms& out);
// The sum of `terms` when quotients in it join with their remainders (join.cc); nothing when none does.
std::optional<Dim> join_quotients(Context& ctx, const Terms& terms);

// Lexicographic order of monomials by atom id and power: compatible with multiplication, so division terminates.
bool lex_less(const Monomial* a, const Monomial* b);
const Monomial* multiply(Context& ctx, const Monomial* a, const Monomial* b);
// a / b, or null when b does not divide a.
const Monomial* divide(Context& ctx, const Monomial* a, const Monomial* b);
// The power of `atom` in m, 0 when it does not occur.
uint32_t power_of(const Monomial* m, const Atom* atom);
// The greatest common divisor.
const Monomial* common(Context& ctx, const Monomial* a, const Monomial* b);
inline bool is_one(const Monomial* m) { return m->factors.empty(); }
inline bool is_single_term(Dim d) { return d->terms.size() == 1; }
int64_t constant_term(Dim d);
// Of the atom by itself.
Interval range_of(Context& ctx, const Atom* atom);
// The greatest common divisor of the coefficients; 0 for the constant 0.
int64_t content(Dim d);

struct Division {
  Dim quotient, remainder;
};
// a = quotient * b + remainder with every term of the remainder reduced by the leading term of b. Coefficients are
// divided towards zero; the constant term of a division by a constant towards minus infinity.
Division divide_with_remainder(Dim a, Dim b);

// d with every occurrence of `atom` in its monomials (not inside other atoms) replaced.
Dim replace_atom(Dim d, const Atom* atom, Dim by);
// c with d == c * atom + rest and `rest` free of the atom at the top level; nothing when the atom has a higher power.
struct Linear {
  Dim coefficient, rest;
};
std::optional<Linear> linear_in(Dim d, const Atom* atom);
// The atoms of the monomials of d, each once, in id order.
std::vector<const Atom*> atoms_of(Dim d);

}  // namespace pliant::expr
