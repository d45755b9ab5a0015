// Arithmetic on canonical polynomials, below the public operators. Internal to expr.
#pragma once
#include <optional>
#include <utility>

#include "expr/interner.h"

namespace pliant::expr {

// INT64_MIN counts as an overflow, so that every coefficient can be negated.
inline bool add_overflows(int64_t a, int64_t b, int64_t* out) {
  return __builtin_add_overflow(a, b, out) || *out == INT64_MIN;
}
inline bool mul_overflows(int64_t a, int64_t b, int64_t* out) {
  return __builtin_mul_overflow(a, b, out) || *out == INT64_MIN;
}
// out = a + k * b on sorted terms; false on overflow.
bool add_scaled(const Terms& a, const Terms& b, int64_t k, Terms& out);
// The sum of `terms` when quotients in it join with their remainders (join.cc); nothing when none does.
std::optional<Dim> join_quotients(Context& ctx, const Terms& terms);

// Lexicographic order of monomials by atom id and power: compatible with multiplication, so division terminates.
bool lex_less(const Monomial* a, const Monomial* b);
const Monomial* multiply(Context& ctx, const Monomial* a, const Monomial* b);
// a / b, or null when b does not divide a.
const Monomial* divide(Context& ctx, const Monomial* a, const Monomial* b);
// The greatest common divisor.
const Monomial* common(Context& ctx, const Monomial* a, const Monomial* b);
Dim dim_of_term(Context& ctx, const Monomial* m, int64_t coefficient);
inline bool is_one(const Monomial* m) { return m->factors.empty(); }
inline bool is_single_term(Dim d) { return d->terms.size() == 1; }
// The atom when `d` is just that.
const Atom* as_atom(Dim d);
int64_t constant_term(Dim d);
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
