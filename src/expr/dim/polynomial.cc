#include "expr/dim/polynomial.h"

#include <algorithm>
#include <numeric>

namespace pliant::expr {
namespace {

bool by_id(const Term& a, const Term& b) { return a.first->id < b.first->id; }

// Stands for a result whose coefficients do not fit 64 bits: the i64 operation on the two values, never folded.
Dim opaque(BinaryOp op, Dim a, Dim b) {
  Context& ctx = *a->ctx;
  auto index = [&](Dim d) {
    ScalarNode n{&ctx, 0, ScalarKind::Index, DType::I64};
    n.index = {d};
    return Interner::scalar(std::move(n));
  };
  ScalarNode n{&ctx, 0, ScalarKind::Binary, DType::I64, static_cast<uint8_t>(op)};
  n.args = {index(a), index(b)};
  return Interner::dim_of(ctx, Interner::atom(ctx, AtomKind::Value, {}, Interner::scalar(std::move(n)).node()));
}

Dim finish(Context& ctx, Terms terms) {
  if (has_quotients(terms)) {
    if (std::optional<Dim> joined = join_quotients(ctx, terms)) return *joined;
  }
  return Interner::dim(ctx, std::move(terms));
}

Dim add(Dim a, Dim b, int64_t k, BinaryOp op) {
  PLIANT_CHECK(a->ctx == b->ctx) << "dims of two contexts";
  if (b->terms.empty()) return a;
  Terms terms;
  if (!add_scaled(a->terms, b->terms, k, terms)) return opaque(op, a, b);
  return finish(*a->ctx, std::move(terms));
}

}  // namespace

bool merge(Terms& terms) {
  std::sort(terms.begin(), terms.end(), by_id);
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Term t = terms[i++];
    while (i < terms.size() && terms[i].first == t.first) {
      if (add_overflows(t.second, terms[i++].second, &t.second)) return false;
    }
    if (t.second != 0) terms[kept++] = t;
  }
  terms.resize(kept);
  return true;
}

std::optional<Dim> sum_of(Context& ctx, Terms terms) {
  if (!merge(terms)) return std::nullopt;
  return finish(ctx, std::move(terms));
}

bool add_scaled(const Terms& a, const Terms& b, int64_t k, Terms& out) {
  out.reserve(a.size() + b.size());
  auto ia = a.begin();
  auto ib = b.begin();
  while (ia != a.end() || ib != b.end()) {
    if (ib == b.end() || (ia != a.end() && ia->first->id < ib->first->id)) {
      out.push_back(*ia++);
      continue;
    }
    int64_t c;
    if (mul_overflows(ib->second, k, &c)) return false;
    if (ia != a.end() && ia->first == ib->first) {
      if (add_overflows(c, ia->second, &c)) return false;
      ++ia;
    }
    if (c != 0) out.emplace_back(ib->first, c);
    ++ib;
  }
  return true;
}

bool Dim::is_const() const { return node_->terms.empty() || (node_->terms.size() == 1 && is_one(node_->terms[0].first)); }
bool Dim::is_const(int64_t v) const { return is_const() && const_value() == v; }
int64_t Dim::const_value() const {
  PLIANT_CHECK(is_const()) << str() << " is not a constant";
  return node_->terms.empty() ? 0 : node_->terms[0].second;
}
std::optional<SymbolId> Dim::as_symbol() const {
  const Atom* atom = as_atom(*this);
  if (!atom || atom->kind != AtomKind::Symbol) return std::nullopt;
  return atom->symbol;
}

namespace {

// The product of sorted terms with b, sorted; false on overflow and where it is too long.
bool multiply_terms(Context& ctx, Terms& terms, const Terms& b) {
  if (terms.size() * b.size() > kMaxTerms) return false;
  Terms out;
  out.reserve(terms.size() * b.size());
  for (const auto& [ma, ka] : terms) {
    for (const auto& [mb, kb] : b) {
      int64_t k;
      if (mul_overflows(ka, kb, &k)) return false;
      out.emplace_back(multiply(ctx, ma, mb), k);
    }
  }
  terms = std::move(out);
  return merge(terms);
}

}  // namespace

Dim operator+(Dim a, Dim b) { return add(a, b, 1, BinaryOp::Add); }
Dim operator-(Dim a, Dim b) { return add(a, b, -1, BinaryOp::Sub); }
Dim operator*(Dim a, Dim b) {
  PLIANT_CHECK(a->ctx == b->ctx) << "dims of two contexts";
  Terms terms = a->terms;
  if (!multiply_terms(*a->ctx, terms, b->terms)) return opaque(BinaryOp::Mul, a, b);
  return finish(*a->ctx, std::move(terms));
}
Dim operator+(Dim a, int64_t b) { return b == 0 ? a : a + a->ctx->constant(b); }
Dim operator-(Dim a, int64_t b) { return b == 0 ? a : a - a->ctx->constant(b); }
Dim operator*(Dim a, int64_t b) { return b == 1 ? a : a * a->ctx->constant(b); }
Dim operator-(int64_t a, Dim b) { return b->ctx->constant(a) - b; }
Dim operator-(Dim a) { return a->ctx->constant(0) - a; }
Dim product(Context& ctx, const std::vector<Dim>& dims) {
  Dim p = ctx.constant(1);
  for (Dim d : dims) p = p * d;
  return p;
}

bool lex_less(const Monomial* a, const Monomial* b) {
  const size_t n = std::min(a->factors.size(), b->factors.size());
  for (size_t i = 0; i < n; ++i) {
    const auto& [atom_a, power_a] = a->factors[i];
    const auto& [atom_b, power_b] = b->factors[i];
    if (atom_a != atom_b) return atom_a->id > atom_b->id;  // the one with the lower atom is greater
    if (power_a != power_b) return power_a < power_b;
  }
  return a->factors.size() < b->factors.size();
}

const Monomial* multiply(Context& ctx, const Monomial* a, const Monomial* b) {
  if (is_one(a)) return b;
  if (is_one(b)) return a;
  Factors out;
  out.reserve(a->factors.size() + b->factors.size());
  auto ia = a->factors.begin();
  auto ib = b->factors.begin();
  while (ia != a->factors.end() || ib != b->factors.end()) {
    if (ib == b->factors.end() || (ia != a->factors.end() && ia->first->id < ib->first->id)) {
      out.push_back(*ia++);
    } else if (ia == a->factors.end() || ib->first->id < ia->first->id) {
      out.push_back(*ib++);
    } else {
      out.emplace_back(ia->first, ia->second + ib->second);
      ++ia;
      ++ib;
    }
  }
  return Interner::monomial(ctx, std::move(out));
}

const Monomial* divide(Context& ctx, const Monomial* a, const Monomial* b) {
  if (is_one(b)) return a;
  Factors out;
  auto ib = b->factors.begin();
  for (const auto& [atom, power] : a->factors) {
    if (ib != b->factors.end() && ib->first == atom) {
      if (ib->second > power) return nullptr;
      if (power > ib->second) out.emplace_back(atom, power - ib->second);
      ++ib;
    } else {
      out.emplace_back(atom, power);
    }
  }
  if (ib != b->factors.end()) return nullptr;
  return Interner::monomial(ctx, std::move(out));
}

uint32_t power_of(const Monomial* m, const Atom* atom) {
  for (const auto& [a, power] : m->factors)
    if (a == atom) return power;
  return 0;
}

const Monomial* common(Context& ctx, const Monomial* a, const Monomial* b) {
  if (a == b) return a;
  Factors out;
  auto ib = b->factors.begin();
  for (const auto& [atom, power] : a->factors) {
    while (ib != b->factors.end() && ib->first->id < atom->id) ++ib;
    if (ib != b->factors.end() && ib->first == atom) out.emplace_back(atom, std::min(power, ib->second));
  }
  return Interner::monomial(ctx, std::move(out));
}

Dim dim_of_atom(Context& ctx, const Atom& atom) { return Interner::dim_of(ctx, &atom); }

Dim dim_of_term(Context& ctx, const Monomial* m, int64_t coefficient) {
  if (coefficient == 0) return Interner::dim(ctx, {});
  return Interner::dim(ctx, {{m, coefficient}});
}

const Atom* as_atom(Dim d) {
  if (!is_single_term(d) || d->terms[0].second != 1) return nullptr;
  const Factors& f = d->terms[0].first->factors;
  return f.size() == 1 && f[0].second == 1 ? f[0].first : nullptr;
}

int64_t constant_term(Dim d) {
  for (const auto& [m, k] : d->terms) {
    if (is_one(m)) return k;
  }
  return 0;
}

int64_t content(Dim d) {
  int64_t g = 0;
  for (const auto& [m, k] : d->terms) g = std::gcd(g, k);
  return g;
}

Dim replace_atom(Dim d, const Atom* atom, Dim by) {
  Context& ctx = *d->ctx;
  Terms kept;
  std::vector<std::pair<Term, uint32_t>> changed;
  for (const Term& t : d->terms) {
    const uint32_t power = power_of(t.first, atom);
    if (power == 0) {
      kept.push_back(t);
    } else {
      changed.push_back({{divide(ctx, t.first, Interner::monomial(ctx, {{atom, power}})), t.second}, power});
    }
  }
  if (changed.empty()) return d;
  if (!has_quotients(d->terms) && !has_quotients(by->terms)) {
    Terms sum = kept;
    bool fits = true;
    for (const auto& [t, power] : changed) {
      Terms term{t};
      for (uint32_t i = 0; i < power && fits; ++i) fits = multiply_terms(ctx, term, by->terms);
      sum.insert(sum.end(), term.begin(), term.end());
    }
    if (fits)
      if (std::optional<Dim> out = sum_of(ctx, std::move(sum))) return *out;
  }
  Dim out = Interner::dim(ctx, std::move(kept));
  for (const auto& [t, power] : changed) {
    Dim term = dim_of_term(ctx, t.first, t.second);
    for (uint32_t i = 0; i < power; ++i) term = term * by;
    out = out + term;
  }
  return out;
}

std::optional<Linear> linear_in(Dim d, const Atom* atom) {
  Context& ctx = *d->ctx;
  Terms coefficient, rest;
  const Monomial* unit = Interner::monomial(ctx, {{atom, 1}});
  for (const Term& t : d->terms) {
    const uint32_t power = power_of(t.first, atom);
    if (power > 1) return std::nullopt;
    if (power == 1) {
      coefficient.emplace_back(divide(ctx, t.first, unit), t.second);
    } else {
      rest.push_back(t);
    }
  }
  std::sort(coefficient.begin(), coefficient.end(), by_id);
  return Linear{finish(ctx, std::move(coefficient)), Interner::dim(ctx, std::move(rest))};
}

std::vector<const Atom*> atoms_of(Dim d) {
  std::vector<const Atom*> atoms;
  for (const auto& [m, k] : d->terms) {
    for (const auto& [atom, power] : m->factors) atoms.push_back(atom);
  }
  std::sort(atoms.begin(), atoms.end(), [](const Atom* a, const Atom* b) { return a->id < b->id; });
  atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
  return atoms;
}

}  // namespace pliant::expr
