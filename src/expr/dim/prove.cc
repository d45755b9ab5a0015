// Three-valued proofs. Everything is reduced to "d >= 0 for all values of its symbols", tried in this order:
//   1. d is a constant
//   2. the interval of d
//   3. a sample of the symbols' values that contradicts ends the search (sample.h)
//   4. a common positive factor of all terms is taken out
//   5. atoms are shifted by their lower bounds; then non-negative coefficients are enough
//   6. one atom is eliminated: floordiv by multiplying with its divisor, min / max / broadcast by cases, mod and symbols by
//      their upper and lower bounds, and the smaller problem is tried again
// Steps are bounded; a query that runs out of them is Unknown.
#include <algorithm>
#include <numeric>

#include "expr/dim/polynomial.h"

namespace pliant::expr {
namespace {

constexpr int kSteps = 96;
constexpr int kDepth = 10;
constexpr size_t kMaxProofTerms = 48;

class Prover {
 public:
  explicit Prover(Context& ctx) : ctx_(ctx) {}

  // Yes: d >= 0 always. No: d < 0 always.
  Tri sign(Dim d, int depth = kDepth) {
    const Interval r = ctx_.range(d);
    if (r.lo >= 0) return Tri::Yes;
    if (r.hi < 0) return Tri::No;
    if (depth == 0 || steps_-- <= 0 || d->terms.size() > kMaxProofTerms) return Tri::Unknown;
    if (nonneg(d, depth)) return Tri::Yes;
    if (!some_sample_nonnegative(d) && nonneg(-d - 1, depth)) return Tri::No;
    return Tri::Unknown;
  }

  bool nonneg(Dim d, int depth) {
    const Interval r = ctx_.range(d);
    if (r.lo >= 0) return true;
    if (r.hi < 0) return false;
    if (depth == 0 || steps_-- <= 0 || d->terms.size() > kMaxProofTerms) return false;
    if (known(d)) return true;
    if (some_sample_negative(d)) return false;
    const bool proved = search(d, depth);
    if (proved) remember(d);
    return proved;
  }

 private:
  bool known(Dim d) {
    std::lock_guard lock(ctx_.impl().memo_mutex);
    auto it = ctx_.impl().nonneg_memo.find(d.node());
    return it != ctx_.impl().nonneg_memo.end() && it->second == Tri::Yes;
  }
  void remember(Dim d) {
    std::lock_guard lock(ctx_.impl().memo_mutex);
    ctx_.impl().nonneg_memo[d.node()] = Tri::Yes;
  }

  Interval range(const Atom* atom) { return range_of(ctx_, atom); }

  bool search(Dim d, int depth) {
    const Dim primitive = strip(d);
    if (!(primitive == d) && ctx_.range(primitive).lo >= 0) return true;
    if (shifted_nonneg(primitive)) return true;
    return eliminate(primitive, depth);
  }

  // d without its positive common factor.
  Dim strip(Dim d) {
    const Monomial* m = d->terms[0].first;
    for (const auto& [other, k] : d->terms) {
      if (is_one(m)) break;
      m = common(ctx_, m, other);
    }
    const int64_t g = content(d);
    Factors positive;
    for (const auto& f : m->factors) {
      if (range(f.first).lo >= 0) positive.push_back(f);
    }
    if (positive.empty() && g <= 1) return d;
    const Monomial* by = Interner::monomial(ctx_, std::move(positive));
    Terms quotient;
    for (const auto& [other, k] : d->terms) quotient.emplace_back(divide(ctx_, other, by), k / g);
    return *sum_of(ctx_, std::move(quotient));
  }

  // Every atom a with a finite lower bound l is written l + a' with a' >= 0; a' goes by the atom's name. Atoms without one
  // must not occur. The second form starts from the finite upper bounds of those that have one.
  bool shifted_nonneg(Dim d) {
    std::vector<Shift> low, high;
    for (const Atom* atom : atoms_of(d)) {
      const Interval r = range(atom);
      if (r.lo == INT64_MIN) return false;
      if (r.lo != 0) low.push_back({atom, 1, r.lo});
      if (r.hi != INT64_MAX) {
        high.push_back({atom, -1, r.hi});
      } else if (r.lo != 0) {
        high.push_back({atom, 1, r.lo});
      }
    }
    return is_nonneg_after(d, low) || is_nonneg_after(d, high);
  }

  // atom = sign * atom' + offset with atom' >= 0.
  struct Shift {
    const Atom* atom;
    int64_t sign, offset;
  };

  // Whether every coefficient of d is non-negative when it is written in the shifted atoms. Quotients and remainders that
  // would meet in the sum are not joined.
  bool is_nonneg_after(Dim d, const std::vector<Shift>& shifts) {
    Terms terms = d->terms;
    for (const Shift& s : shifts)
      if (!shift(terms, s)) return false;
    return std::all_of(terms.begin(), terms.end(), [](const Term& t) { return t.second >= 0; });
  }

  // Expands (sign * atom + offset)^power in every term, one factor at a time; false on overflow.
  bool shift(Terms& terms, const Shift& s) {
    Terms out;
    for (const Term& t : terms) {
      const uint32_t power = power_of(t.first, s.atom);
      Terms expanded{t};
      if (power != 0) {
        const Monomial* unit = Interner::monomial(ctx_, {{s.atom, 1}});
        expanded[0].first = divide(ctx_, t.first, Interner::monomial(ctx_, {{s.atom, power}}));
        for (uint32_t i = 0; i < power; ++i) {
          Terms next;
          for (const auto& [m, k] : expanded) {
            int64_t constant;
            if (mul_overflows(k, s.offset, &constant)) return false;
            next.emplace_back(multiply(ctx_, m, unit), k * s.sign);
            if (constant != 0) next.emplace_back(m, constant);
          }
          expanded = std::move(next);
          if (!merge(expanded)) return false;
        }
      }
      out.insert(out.end(), expanded.begin(), expanded.end());
    }
    terms = std::move(out);
    return terms.size() <= kMaxTerms && merge(terms);
  }

  bool eliminate(Dim d, int depth) {
    std::vector<const Atom*> atoms = atoms_of(d);
    std::reverse(atoms.begin(), atoms.end());
    for (const Atom* atom : atoms) {
      if (atom->kind != AtomKind::FloorDiv) continue;
      const std::optional<Linear> linear = linear_in(d, atom);
      if (!linear) continue;
      // d >= 0 is c*d + c - 1 >= 0 for a divisor c, and c*floordiv(x, c) is x - mod(x, c).
      const Dim x = atom->args[0], c = atom->args[1];
      return nonneg(linear->coefficient * (x - mod(x, c)) + linear->rest * c + c - 1, depth - 1);
    }
    for (const Atom* atom : atoms) {
      if (atom->kind != AtomKind::Min && atom->kind != AtomKind::Max && atom->kind != AtomKind::Broadcast) continue;
      if (by_cases(d, atom, depth)) return true;
    }
    for (const Atom* atom : atoms) {
      for (Dim upper : uppers(atom)) {
        if (bounded(d, atom, upper, depth)) return true;
        if (steps_ <= 0) return false;
      }
    }
    return false;
  }

  // The atom has the value of one of its arguments.
  bool by_cases(Dim d, const Atom* atom, int depth) {
    if (atom->kind != AtomKind::Broadcast) {
      // min(a, b) <= a: with a coefficient of the right sign one argument is enough.
      const std::optional<Linear> linear = linear_in(d, atom);
      const bool is_min = atom->kind == AtomKind::Min;
      if (linear && nonneg(is_min ? -linear->coefficient : linear->coefficient, depth - 1)) {
        for (Dim arg : atom->args) {
          if (nonneg(replace_atom(d, atom, arg), depth - 1)) return true;
        }
        return false;
      }
    }
    for (Dim arg : atom->args) {
      if (!nonneg(replace_atom(d, atom, arg), depth - 1)) return false;
    }
    return true;
  }

  // Symbolic upper bounds.
  std::vector<Dim> uppers(const Atom* atom) {
    if (atom->kind == AtomKind::Symbol && atom->info->upper) return {*atom->info->upper};
    if (atom->kind == AtomKind::Mod) {
      std::vector<Dim> out{atom->args[1] - 1};
      if (ctx_.range(atom->args[0]).lo >= 0) out.push_back(atom->args[0]);
      return out;
    }
    return {};
  }

  // Replaces the atom by `upper` where d falls with it and by its lower bound where d grows with it.
  bool bounded(Dim d, const Atom* atom, Dim upper, int depth) {
    const int64_t lo = range(atom).lo;
    if (const std::optional<Linear> linear = linear_in(d, atom)) {
      if (nonneg(-linear->coefficient, depth - 1)) return nonneg(linear->rest + linear->coefficient * upper, depth - 1);
      if (lo != INT64_MIN && nonneg(linear->coefficient, depth - 1)) {
        return nonneg(linear->rest + linear->coefficient * lo, depth - 1);
      }
    }
    return by_terms(d, atom, upper, lo, depth);
  }

  // Term by term: the other factors of each must not be negative.
  bool by_terms(Dim d, const Atom* atom, Dim upper, int64_t lo, int depth) {
    if (lo < 0) return false;
    Dim out = ctx_.constant(0);
    for (const auto& [m, k] : d->terms) {
      Dim term = dim_of_term(ctx_, m, k);
      bool occurs = false;
      for (const auto& [other, power] : m->factors) {
        if (other == atom) {
          occurs = true;
        } else if (range(other).lo < 0) {
          return false;
        }
      }
      if (occurs) term = replace_atom(term, atom, k < 0 ? upper : ctx_.constant(lo));
      out = out + term;
    }
    return !(out == d) && nonneg(out, depth - 1);
  }

  Context& ctx_;
  int steps_ = kSteps;
};

bool never_zero_by_divisibility(Context& ctx, Dim d) {
  const int64_t k = constant_term(d);
  if (k == 0) return false;
  const int64_t g = content(d - k);
  if (g > 1 && k % g != 0) return true;
  return (k % 2 != 0 && ctx.divisible(d - k, 2)) || (k % 3 != 0 && ctx.divisible(d - k, 3));
}

Tri decide_zero(Context& ctx, Dim d) {
  if (d.is_const()) return d.is_const(0) ? Tri::Yes : Tri::No;
  const Interval r = ctx.range(d);
  if (r.lo > 0 || r.hi < 0 || never_zero_by_divisibility(ctx, d)) return Tri::No;
  if (r.lo == 0 && r.hi == 0) return Tri::Yes;
  if (some_sample_nonnegative(d) && some_sample_negative(d)) {
    const Samples s = samples_of(d);
    if (std::find(s.begin(), s.end(), 0) != s.end()) return Tri::Unknown;
  }
  const Tri upper = Prover(ctx).sign(d);
  if (upper == Tri::No) return Tri::No;
  const Tri lower = Prover(ctx).sign(-d);
  if (lower == Tri::No) return Tri::No;
  if (upper == Tri::Yes && lower == Tri::Yes) return Tri::Yes;
  return Tri::Unknown;
}

}  // namespace

Tri Context::less_equal(Dim a, Dim b) {
  if (a == b) return Tri::Yes;
  const Dim d = b - a;
  if (d.is_const()) return d.const_value() >= 0 ? Tri::Yes : Tri::No;
  {
    std::lock_guard lock(impl_->memo_mutex);
    auto it = impl_->nonneg_memo.find(d.node());
    if (it != impl_->nonneg_memo.end()) return it->second;
  }
  const Tri answer = Prover(*this).sign(d);
  std::lock_guard lock(impl_->memo_mutex);
  impl_->nonneg_memo[d.node()] = answer;
  return answer;
}

Tri Context::equal(Dim a, Dim b) {
  if (a == b) return Tri::Yes;
  const Dim d = a - b;
  {
    std::lock_guard lock(impl_->memo_mutex);
    auto it = impl_->zero_memo.find(d.node());
    if (it != impl_->zero_memo.end()) return it->second;
  }
  const Tri answer = decide_zero(*this, d);
  std::lock_guard lock(impl_->memo_mutex);
  impl_->zero_memo[d.node()] = answer;
  return answer;
}

}  // namespace pliant::expr
