// floordiv and mod: what divides is taken out, what stays below the divisor is dropped, the rest becomes an atom.
//
//   floordiv(4*x + y + 9, 4)      x + floordiv(y + 1, 4) + 2
//   floordiv(p*g + r, g)          p            when 0 <= r < g is proved
//   mod(p*g + r, g)               r            likewise
//   floordiv(floordiv(x, a), b)   floordiv(x, a*b)
//   mod(floordiv(x, a), b)        floordiv(mod(x, a*b), a): multiplied by a, it cancels
//
// Sums join floordiv(x, c)*c + mod(x, c) to x (polynomial.cc).
#include <algorithm>
#include <numeric>

#include "expr/dim/polynomial.h"

namespace pliant::expr {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

// The quotient when every value of r gives the same one.
std::optional<Dim> fixed_quotient(Dim r, Dim b) {
  Context& ctx = *r->ctx;
  if (r.is_const(0)) return r;
  if (b.is_const()) {
    const Interval i = ctx.range(r);
    if (i.lo != INT64_MIN && i.hi != INT64_MAX) {
      const int64_t q = floor_div(i.lo, b.const_value());
      if (q == floor_div(i.hi, b.const_value())) return ctx.constant(q);
    }
  }
  if (ctx.proves_less_equal(ctx.constant(0), r)) {
    if (ctx.proves_less(r, b)) return ctx.constant(0);
  } else if (ctx.proves_less(r, ctx.constant(0)) && ctx.proves_less_equal(ctx.constant(0), r + b)) {
    return ctx.constant(-1);
  }
  return std::nullopt;
}

// r = factor * high + low with b = factor * divisor and 0 <= low < factor.
struct Cancelled {
  Dim factor, high, low, divisor;
};

// Each term of r proposes what it has in common with b.
std::optional<Cancelled> cancel(Dim r, Dim b) {
  Context& ctx = *r->ctx;
  const bool single = is_single_term(b);
  const int64_t b_content = content(b);
  std::vector<Dim> tried;
  for (const auto& [m, k] : r->terms) {
    if (is_one(m)) continue;
    const Monomial* f = single ? common(ctx, m, b->terms[0].first) : Interner::monomial(ctx, {});
    const Dim factor = dim_of_term(ctx, f, std::gcd(k, b_content));
    if (factor.is_const(1) || std::find(tried.begin(), tried.end(), factor) != tried.end()) continue;
    tried.push_back(factor);
    const Division d = divide_with_remainder(r, factor);
    if (fixed_quotient(d.remainder, factor) != ctx.constant(0)) continue;
    return Cancelled{factor, d.quotient, d.remainder, divide_with_remainder(b, factor).quotient};
  }
  return std::nullopt;
}

// True when n is a multiple of b as polynomials.
bool is_multiple(Dim n, Dim b) { return divide_with_remainder(n, b).remainder.is_const(0); }

// r without one term k*mod(x, n) where b divides k*n: k*mod(x, n) is k*x - k*n*floordiv(x, n). `quotient` is what b takes
// of the last part. Only when that makes r shorter.
struct Unwrapped {
  Dim r, quotient;
};
std::optional<Unwrapped> unwrap_mod(Dim r, Dim b) {
  for (const auto& [m, k] : r->terms) {
    if (m->factors.size() != 1 || m->factors[0].second != 1) continue;
    const Atom* atom = m->factors[0].first;
    if (atom->kind != AtomKind::Mod) continue;
    const Division d = divide_with_remainder(atom->args[1] * k, b);
    if (!d.remainder.is_const(0)) continue;
    Context& ctx = *r->ctx;
    const Dim without = r - dim_of_term(ctx, m, k) + atom->args[0] * k;
    if (without->terms.size() >= r->terms.size()) continue;
    return Unwrapped{without, -(d.quotient * floordiv(atom->args[0], atom->args[1]))};
  }
  return std::nullopt;
}

Dim make_atom(AtomKind kind, Dim a, Dim b) { return Interner::dim_of(*a->ctx, Interner::atom(*a->ctx, kind, {a, b})); }

// Whether a * b is known to be beyond int64.
bool overflows(Dim a, Dim b) {
  int64_t product = 0;
  return a.is_const() && b.is_const() && __builtin_mul_overflow(a.const_value(), b.const_value(), &product);
}

// The quotient of a remainder that division by b has reduced already.
Dim reduced_floordiv(Dim r, Dim b) {
  Context& ctx = *r->ctx;
  if (std::optional<Dim> q = fixed_quotient(r, b)) return *q;
  if (std::optional<Cancelled> c = cancel(r, b)) return floordiv(c->high, c->divisor);
  if (std::optional<Unwrapped> u = unwrap_mod(r, b)) return floordiv(u->r, b) + u->quotient;
  for (const auto& [m, k] : r->terms) {
    if (k != 1 || m->factors.size() != 1 || m->factors[0].second != 1) continue;
    const Atom* atom = m->factors[0].first;
    if (atom->kind == AtomKind::FloorDiv) {
      const Dim rest = r - dim_of_term(ctx, m, 1);
      if (!rest.is_const() || overflows(atom->args[1], b) || overflows(rest, atom->args[1])) continue;
      return floordiv(atom->args[0] + rest * atom->args[1], atom->args[1] * b);
    }
  }
  return make_atom(AtomKind::FloorDiv, r, b);
}

// r with the terms dropped that are congruent to something simpler modulo b.
Dim reduce_modulo(Dim r, Dim b) {
  Context& ctx = *r->ctx;
  Dim out = r;
  for (const auto& [m, k] : r->terms) {
    const Dim term = dim_of_term(ctx, m, k);
    if (b.is_const() && !is_one(m) && ctx.divisible(term, b.const_value())) {
      out = out - term;
    } else if (m->factors.size() == 1 && m->factors[0].second == 1 && m->factors[0].first->kind == AtomKind::Mod) {
      const Atom* atom = m->factors[0].first;
      if (is_multiple(atom->args[1] * k, b)) out = out - term + atom->args[0] * k;
    }
  }
  return out;
}

// x and c when r is floordiv(x, c) plus a constant: that is floordiv(x + constant * c, c).
std::optional<std::pair<Dim, Dim>> as_shifted_quotient(Dim r) {
  const Dim constant = r->ctx->constant(constant_term(r));
  const Atom* atom = as_atom(r - constant);
  if (!atom || atom->kind != AtomKind::FloorDiv || overflows(constant, atom->args[1])) return std::nullopt;
  return std::pair{atom->args[0] + constant * atom->args[1], atom->args[1]};
}

Dim reduced_mod(Dim r, Dim b) {
  if (std::optional<Dim> q = fixed_quotient(r, b)) return r - *q * b;
  if (const auto quotient = as_shifted_quotient(r); quotient && !overflows(quotient->second, b)) {
    const auto& [x, c] = *quotient;
    return floordiv(mod(x, c * b), c);
  }
  const Dim simpler = reduce_modulo(r, b);
  if (!(simpler == r)) return mod(simpler, b);
  if (std::optional<Cancelled> c = cancel(r, b)) return c->factor * mod(c->high, c->divisor) + c->low;
  return make_atom(AtomKind::Mod, r, b);
}

}  // namespace

Dim floordiv(Dim a, Dim b) {
  PLIANT_CHECK(a->ctx == b->ctx) << "dims of two contexts";
  Context& ctx = *a->ctx;
  if (b.is_const(1) || a.is_const(0)) return a;
  if (b.is_const()) {
    if (b.const_value() == 0) return b;  // no value of interest: the extent that divides is empty
    if (b.const_value() < 0) return floordiv(-a, -b);
  }
  if (a == b) return ctx.constant(1);
  const Division d = divide_with_remainder(a, b);
  return d.quotient + reduced_floordiv(d.remainder, b);
}

Dim mod(Dim a, Dim b) {
  PLIANT_CHECK(a->ctx == b->ctx) << "dims of two contexts";
  Context& ctx = *a->ctx;
  if (b.is_const(1) || a == b) return ctx.constant(0);
  if (a.is_const(0)) return a;
  if (b.is_const()) {
    if (b.const_value() == 0) return b;
    if (b.const_value() < 0) return -mod(-a, -b);
  }
  return reduced_mod(divide_with_remainder(a, b).remainder, b);
}

Dim floordiv(Dim a, int64_t b) { return floordiv(a, a->ctx->constant(b)); }
Dim mod(Dim a, int64_t b) { return mod(a, a->ctx->constant(b)); }
Dim ceildiv(Dim a, Dim b) { return floordiv(a + b - 1, b); }
Dim ceildiv(Dim a, int64_t b) { return floordiv(a + (b - 1), b); }

}  // namespace pliant::expr
