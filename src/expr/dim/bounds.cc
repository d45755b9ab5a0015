// Intervals and divisibility of Dims.
#include <algorithm>
#include <numeric>

#include "expr/dim/polynomial.h"

namespace pliant::expr {
namespace {

constexpr int64_t kMinusInf = INT64_MIN;
constexpr int64_t kPlusInf = INT64_MAX;
constexpr Interval kAll{kMinusInf, kPlusInf};

bool is_infinite(int64_t v) { return v == kMinusInf || v == kPlusInf; }

int64_t saturate(__int128 v) {
  if (v >= kPlusInf) return kPlusInf;
  if (v <= kMinusInf) return kMinusInf;
  return static_cast<int64_t>(v);
}

// Bounds of the same side only: an infinity absorbs.
int64_t add_bound(int64_t a, int64_t b) {
  if (is_infinite(a)) return a;
  if (is_infinite(b)) return b;
  return saturate(static_cast<__int128>(a) + b);
}
int64_t mul_bound(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b)) return (a < 0) == (b < 0) ? kPlusInf : kMinusInf;
  return saturate(static_cast<__int128>(a) * b);
}
int64_t floordiv_bound(int64_t a, int64_t b) {
  if (is_infinite(a)) return a;
  if (is_infinite(b)) return a < 0 ? -1 : 0;
  const int64_t q = a / b;
  return a % b != 0 && a < 0 ? q - 1 : q;
}

Interval add(Interval a, Interval b) { return {add_bound(a.lo, b.lo), add_bound(a.hi, b.hi)}; }
Interval mul(Interval a, Interval b) {
  const int64_t p[4] = {mul_bound(a.lo, b.lo), mul_bound(a.lo, b.hi), mul_bound(a.hi, b.lo), mul_bound(a.hi, b.hi)};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}
Interval power(Interval base, uint32_t n) {
  Interval out = base;
  for (uint32_t i = 1; i < n; ++i) out = mul(out, base);
  if (n % 2 == 0) out.lo = std::max<int64_t>(out.lo, 0);
  return out;
}

Interval range_of_dtype(DType t) {
  switch (t) {
    case DType::Bool: return {0, 1};
    case DType::I8: return {INT8_MIN, INT8_MAX};
    case DType::I16: return {INT16_MIN, INT16_MAX};
    case DType::I32: return {INT32_MIN, INT32_MAX};
    case DType::U8: return {0, UINT8_MAX};
    case DType::U16: return {0, UINT16_MAX};
    case DType::U32: return {0, UINT32_MAX};
    default: return kAll;
  }
}

Interval range_of_symbol(Context& ctx, const SymbolInfo& info) {
  Interval out{info.lo, info.hi};
  if (info.upper) {
    const int64_t hi = ctx.range(*info.upper).hi;
    // An empty range stands for code that never runs; any interval is true of it.
    out.hi = std::max(std::min(out.hi, hi), out.lo);
  }
  if (info.multiple_of > 1) {
    if (!is_infinite(out.hi)) out.hi = floordiv_bound(out.hi, info.multiple_of) * info.multiple_of;
    if (!is_infinite(out.lo)) out.lo = -floordiv_bound(-out.lo, info.multiple_of) * info.multiple_of;
    out.hi = std::max(out.hi, out.lo);
  }
  return out;
}

Interval range_of_value(Context& ctx, Scalar s);

Interval range_of_binary(Context& ctx, Scalar s) {
  const Interval a = range_of_value(ctx, s->args[0]);
  const Interval b = range_of_value(ctx, s->args[1]);
  Interval out = range_of_dtype(s.dtype());
  const auto fits = [&](Interval i) { return i.lo >= out.lo && i.hi <= out.hi && !is_infinite(i.lo) && !is_infinite(i.hi); };
  // Intervals of u64 are of the same bits as i64: a negative bound stands for a large number.
  const bool large = s.dtype() == DType::U64 && (a.lo < 0 || b.lo < 0);
  if (large && s->binary() == BinaryOp::Min && (a.lo >= 0 || b.lo >= 0)) return {0, a.lo >= 0 ? a.hi : b.hi};
  if (large) return out;
  switch (s->binary()) {
    case BinaryOp::Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinaryOp::Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case BinaryOp::Add: return fits(add(a, b)) ? add(a, b) : out;
    case BinaryOp::Mul: return fits(mul(a, b)) ? mul(a, b) : out;
    case BinaryOp::Mod:
      if (b.lo > 0) return {0, b.hi == kPlusInf ? kPlusInf : b.hi - 1};
      return out;
    default: return out;
  }
}

Interval compute_range(Context& ctx, Scalar s) {
  const Interval type = range_of_dtype(s.dtype());
  switch (s->kind) {
    case ScalarKind::Const:
      if (s.dtype() == DType::U64 && static_cast<int64_t>(s->bits) < 0) return kAll;
      return {static_cast<int64_t>(s->bits), static_cast<int64_t>(s->bits)};
    case ScalarKind::Index: return ctx.range(s->index[0]);
    case ScalarKind::Binary:
      if (is_comparison(s->binary()) || is_float(s.dtype())) return type;
      return range_of_binary(ctx, s);
    case ScalarKind::Select: {
      const Interval a = range_of_value(ctx, s->args[1]);
      const Interval b = range_of_value(ctx, s->args[2]);
      return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    case ScalarKind::Cast: {
      if (is_float(s->args[0].dtype())) return type;
      const Interval a = range_of_value(ctx, s->args[0]);
      if (s->args[0].dtype() == DType::U64 && a.lo < 0) return type;
      return a.lo >= type.lo && a.hi <= type.hi ? a : type;
    }
    default: return type;
  }
}

// Of an integer or Bool scalar. What several others use is looked at once.
Interval range_of_value(Context& ctx, Scalar s) {
  if (s->kind == ScalarKind::Const) return compute_range(ctx, s);
  {
    std::lock_guard lock(ctx.impl().memo_mutex);
    auto it = ctx.impl().value_range_memo.find(s.node());
    if (it != ctx.impl().value_range_memo.end()) return it->second;
  }
  const Interval out = compute_range(ctx, s);
  std::lock_guard lock(ctx.impl().memo_mutex);
  ctx.impl().value_range_memo.emplace(s.node(), out);
  return out;
}

Interval compute_range(Context& ctx, const Atom* atom) {
  if (atom->kind == AtomKind::Symbol) return range_of_symbol(ctx, *atom->info);
  if (atom->kind == AtomKind::Value) return range_of_value(ctx, Scalar(atom->scalar));
  const Interval a = ctx.range(atom->args[0]);
  Interval b = ctx.range(atom->args[1]);
  switch (atom->kind) {
    case AtomKind::FloorDiv:
      b.lo = std::max<int64_t>(b.lo, 1);
      b.hi = std::max<int64_t>(b.hi, 1);
      return {std::min(floordiv_bound(a.lo, b.lo), floordiv_bound(a.lo, b.hi)),
              std::max(floordiv_bound(a.hi, b.lo), floordiv_bound(a.hi, b.hi))};
    case AtomKind::Mod: {
      const int64_t hi = b.hi == kPlusInf ? kPlusInf : std::max<int64_t>(b.hi - 1, 0);
      return {0, a.lo >= 0 ? std::min(a.hi, hi) : hi};
    }
    default: break;
  }
  Interval out = a;
  for (size_t i = 1; i < atom->args.size(); ++i) {
    const Interval arg = ctx.range(atom->args[i]);
    if (atom->kind == AtomKind::Min) {
      out = {std::min(out.lo, arg.lo), std::min(out.hi, arg.hi)};
    } else if (atom->kind == AtomKind::Max) {
      out = {std::max(out.lo, arg.lo), std::max(out.hi, arg.hi)};
    } else {
      out = {std::min(out.lo, arg.lo), std::max(out.hi, arg.hi)};
    }
  }
  return out;
}

}  // namespace

Interval range_of(Context& ctx, const Atom* atom) {
  auto& impl = ctx.impl();
  {
    std::lock_guard lock(impl.memo_mutex);
    auto it = impl.atom_range_memo.find(atom);
    if (it != impl.atom_range_memo.end()) return it->second;
  }
  const Interval out = compute_range(ctx, atom);
  std::lock_guard lock(impl.memo_mutex);
  impl.atom_range_memo.emplace(atom, out);
  return out;
}

namespace {

// The greatest known divisor; 0 divides only 0.
int64_t divisor_of(const Atom* atom);
int64_t divisor_of_term(const Term& t) {
  int64_t g = std::abs(t.second);
  for (const auto& [atom, power] : t.first->factors) {
    const int64_t f = divisor_of(atom);
    for (uint32_t i = 0; i < power; ++i) {
      int64_t product;
      if (__builtin_mul_overflow(g, f, &product)) return g;
      g = product;
    }
  }
  return g;
}
int64_t divisor_of_dim(Dim d) {
  int64_t g = 0;
  for (const Term& t : d->terms) g = std::gcd(g, divisor_of_term(t));
  return g;
}
int64_t compute_divisor(const Atom* atom) {
  switch (atom->kind) {
    case AtomKind::Symbol: return std::max<int64_t>(atom->info->multiple_of, 1);
    case AtomKind::Min:
    case AtomKind::Max:
    case AtomKind::Mod: {
      int64_t g = 0;
      for (Dim arg : atom->args) g = std::gcd(g, divisor_of_dim(arg));
      return std::max<int64_t>(g, 1);
    }
    default: return 1;
  }
}
int64_t divisor_of(const Atom* atom) {
  if (atom->kind != AtomKind::Min && atom->kind != AtomKind::Max && atom->kind != AtomKind::Mod)
    return compute_divisor(atom);
  auto& impl = atom->args[0]->ctx->impl();
  {
    std::lock_guard lock(impl.memo_mutex);
    auto it = impl.divisor_memo.find(atom);
    if (it != impl.divisor_memo.end()) return it->second;
  }
  const int64_t out = compute_divisor(atom);
  std::lock_guard lock(impl.memo_mutex);
  impl.divisor_memo.emplace(atom, out);
  return out;
}

}  // namespace

Interval Context::range(Dim d) {
  if (d.is_const()) return {d.const_value(), d.const_value()};
  {
    std::lock_guard lock(impl_->memo_mutex);
    auto it = impl_->range_memo.find(d.node());
    if (it != impl_->range_memo.end()) return it->second;
  }
  Interval out{0, 0};
  for (const auto& [m, k] : d->terms) {
    Interval term{k, k};
    for (const auto& [atom, n] : m->factors) term = mul(term, power(range_of(*this, atom), n));
    out = add(out, term);
  }
  std::lock_guard lock(impl_->memo_mutex);
  impl_->range_memo.emplace(d.node(), out);
  return out;
}

bool Context::divisible(Dim d, int64_t g) {
  if (g == 1 || g == -1) return true;
  if (g == 0) return d.is_const(0);
  if (divisor_of_dim(d) % g == 0) return true;
  // k * mod(x, c) is congruent to k * x when g divides k * c.
  for (const Term& t : d->terms) {
    if (t.first->factors.size() != 1 || t.first->factors[0].second != 1) continue;
    const Atom* atom = t.first->factors[0].first;
    if (atom->kind != AtomKind::Mod) continue;
    const int64_t c = divisor_of_dim(atom->args[1]);
    int64_t times;
    if (__builtin_mul_overflow(c, t.second, &times) || times % g != 0) continue;
    return divisible(d - dim_of_term(*this, t.first, t.second) + atom->args[0] * t.second, g);
  }
  return false;
}

std::optional<Dim> Context::divide_exact(Dim d, Dim by) {
  if (by.is_const(0)) return std::nullopt;
  const Division division = divide_with_remainder(d, by);
  if (!division.remainder.is_const(0)) return std::nullopt;
  return division.quotient;
}

}  // namespace pliant::expr
