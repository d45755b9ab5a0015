// Arithmetic on single known elements. Integers are exact polynomials; comparisons are 0/1 polynomials of min and max.
// Floats are computed as the model would (rounded to f32) when constant; symbolic floats are kept as exact ratios and given
// up otherwise.
#include <cmath>

#include "frontend/core/known.h"

namespace pliant::frontend {
namespace {

using Maybe = std::optional<Element>;

// The value as type t holds it: integers wrap, f32 rounds.
int64_t wrap(int64_t v, DType t) {
  switch (t) {
    case DType::Bool: return v != 0;
    case DType::I8: return static_cast<int8_t>(v);
    case DType::I16: return static_cast<int16_t>(v);
    case DType::I32: return static_cast<int32_t>(v);
    case DType::U8: return static_cast<uint8_t>(v);
    case DType::U16: return static_cast<uint16_t>(v);
    case DType::U32: return static_cast<uint32_t>(v);
    default: return v;
  }
}
double round_to(double v, DType t) { return t == DType::F32 ? static_cast<double>(static_cast<float>(v)) : v; }

int64_t wrapping(ElementOp op, int64_t a, int64_t b) {
  uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  uint64_t r = op == ElementOp::Add ? x + y : op == ElementOp::Sub ? x - y : x * y;
  return static_cast<int64_t>(r);
}

Maybe const_int_binary(ElementOp op, int64_t a, int64_t b, DType t, expr::Context& ctx) {
  int64_t r = 0;
  switch (op) {
    case ElementOp::Add:
    case ElementOp::Sub:
    case ElementOp::Mul: r = wrap(wrapping(op, a, b), t); break;
    case ElementOp::Div:
      if (b == 0) return std::nullopt;
      r = b == -1 ? wrap(wrapping(ElementOp::Sub, 0, a), t) : a / b;
      break;
    case ElementOp::Mod:
      if (b == 0) return std::nullopt;
      if (b == -1) return Element::make_int(ctx.constant(0));
      r = a % b;
      if (r != 0 && (r < 0) != (b < 0)) r += b;
      break;
    case ElementOp::Pow: {
      if (b < 0) return std::nullopt;
      r = 1;
      for (int64_t i = 0; i < std::min<int64_t>(b, 64); ++i) r = wrapping(ElementOp::Mul, r, a);
      if (b > 64 && a != 0 && a != 1) return std::nullopt;
      r = wrap(r, t);
      break;
    }
    case ElementOp::Min: r = std::min(a, b); break;
    case ElementOp::Max: r = std::max(a, b); break;
    case ElementOp::And: r = a != 0 && b != 0; break;
    case ElementOp::Or: r = a != 0 || b != 0; break;
    case ElementOp::Xor: r = (a != 0) != (b != 0); break;
    case ElementOp::Equal: r = a == b; break;
    case ElementOp::Less: r = a < b; break;
    case ElementOp::LessOrEqual: r = a <= b; break;
    case ElementOp::Greater: r = a > b; break;
    case ElementOp::GreaterOrEqual: r = a >= b; break;
    default: return std::nullopt;
  }
  return Element::make_int(ctx.constant(r));
}

// Truncating division of sizes; the divisor must be provably positive, or a size whose zero case has no meaning.
std::optional<Dim> truncating_div(Dim a, Dim b, expr::Context& ctx) {
  if (b.is_const(1)) return a;
  if (auto exact = ctx.divide_exact(a, b)) return *exact;
  if (!proves_non_negative(b, ctx)) return std::nullopt;
  b = tight_max(b, ctx.constant(1), ctx);
  if (proves_non_negative(a, ctx)) return expr::floordiv(a, b);
  return expr::floordiv(a + (b - 1) * is_negative(a, ctx), b);
}

Maybe int_binary(ElementOp op, Dim a, Dim b, DType t, expr::Context& ctx) {
  if (a.is_const() && b.is_const()) return const_int_binary(op, a.const_value(), b.const_value(), t, ctx);
  Dim zero = ctx.constant(0);
  auto give = [](Dim d) { return Element::make_int(d); };
  switch (op) {
    case ElementOp::Add: return give(a + b);
    case ElementOp::Sub: return give(a - b);
    case ElementOp::Mul: return give(a * b);
    case ElementOp::Div: {
      auto q = truncating_div(a, b, ctx);
      if (!q) return std::nullopt;
      return give(*q);
    }
    case ElementOp::Mod:
      if (!proves_non_negative(b, ctx)) return std::nullopt;
      return give(expr::mod(a, tight_max(b, ctx.constant(1), ctx)));
    case ElementOp::Pow: {
      if (!b.is_const() || b.const_value() < 0 || b.const_value() > 4) return std::nullopt;
      Dim r = ctx.constant(1);
      for (int64_t i = 0; i < b.const_value(); ++i) r = r * a;
      return give(r);
    }
    case ElementOp::Min: return give(tight_min(a, b, ctx));
    case ElementOp::Max: return give(tight_max(a, b, ctx));
    case ElementOp::And: return give(a * b);
    case ElementOp::Or: return give(tight_max(a, b, ctx));
    case ElementOp::Xor: return give(a + b - a * b * 2);
    case ElementOp::Equal: {
      expr::Tri same = ctx.equal(a, b);
      if (same != expr::Tri::Unknown) return give(same == expr::Tri::Yes ? ctx.constant(1) : zero);
      return give(is_zero(a - b, ctx));
    }
    case ElementOp::Less: return give(is_negative(a - b, ctx));
    case ElementOp::Greater: return give(is_negative(b - a, ctx));
    case ElementOp::LessOrEqual: return give(1 - is_negative(b - a, ctx));
    case ElementOp::GreaterOrEqual: return give(1 - is_negative(a - b, ctx));
    default: return std::nullopt;
  }
}

Maybe const_real_binary(ElementOp op, double a, double b, DType t, expr::Context& ctx) {
  auto real = [&](double v) { return Element::make_real(round_to(v, t)); };
  auto truth = [&](bool v) { return Element::make_int(ctx.constant(v)); };
  bool nan = std::isnan(a) || std::isnan(b);
  switch (op) {
    case ElementOp::Add: return real(a + b);
    case ElementOp::Sub: return real(a - b);
    case ElementOp::Mul: return real(a * b);
    case ElementOp::Div: return real(a / b);
    case ElementOp::Min: return nan ? Maybe() : real(std::min(a, b));
    case ElementOp::Max: return nan ? Maybe() : real(std::max(a, b));
    case ElementOp::Equal: return truth(a == b);
    case ElementOp::Less: return truth(a < b);
    case ElementOp::LessOrEqual: return truth(a <= b);
    case ElementOp::Greater: return truth(a > b);
    case ElementOp::GreaterOrEqual: return truth(a >= b);
    default: return std::nullopt;
  }
}

struct Ratio {
  Dim num, den;
};

// A constant as an exact ratio with a small denominator, as most factors in size computations are: 2, 0.5, 1.25.
std::optional<Ratio> as_ratio(const Element& e, expr::Context& ctx) {
  if (e.kind == Element::Kind::Ratio) return Ratio{e.num, e.den};
  if (e.kind != Element::Kind::Real || !std::isfinite(e.real)) return std::nullopt;
  double v = e.real;
  int64_t den = 1;
  while (v != std::floor(v) && den < 4096) v *= 2, den *= 2;
  if (v != std::floor(v) || std::fabs(v) > (1 << 24)) return std::nullopt;
  return Ratio{ctx.constant(static_cast<int64_t>(v)), ctx.constant(den)};
}

bool is_dyadic(const Ratio& r) {
  if (!r.den.is_const()) return false;
  int64_t d = r.den.const_value();
  return d > 0 && (d & (d - 1)) == 0;
}

Element make_reduced(Dim num, Dim den, expr::Context& ctx) {
  if (auto q = ctx.divide_exact(num, den)) return Element::make_ratio(*q, ctx.constant(1));
  return Element::make_ratio(num, den);
}

Maybe ratio_binary(ElementOp op, const Element& ea, const Element& eb, expr::Context& ctx) {
  auto a = as_ratio(ea, ctx), b = as_ratio(eb, ctx);
  if (!a || !b || !is_dyadic(*a) || !is_dyadic(*b)) return std::nullopt;
  switch (op) {
    case ElementOp::Add: return make_reduced(a->num * b->den + b->num * a->den, a->den * b->den, ctx);
    case ElementOp::Sub: return make_reduced(a->num * b->den - b->num * a->den, a->den * b->den, ctx);
    case ElementOp::Mul: return make_reduced(a->num * b->num, a->den * b->den, ctx);
    case ElementOp::Div: {
      // One rounded division: the ratio is kept exactly, and only its floor, ceiling or use as a scale is taken.
      Dim den = a->den * b->num;
      if (!proves_non_negative(den, ctx) || den.is_const(0)) return std::nullopt;
      return make_reduced(a->num * b->den, tight_max(den, ctx.constant(1), ctx), ctx);
    }
    case ElementOp::Min:
    case ElementOp::Max: {
      if (!(a->den == b->den)) return std::nullopt;
      Dim num = op == ElementOp::Min ? tight_min(a->num, b->num, ctx) : tight_max(a->num, b->num, ctx);
      return Element::make_ratio(num, a->den);
    }
    default: {
      Maybe r = int_binary(op, a->num * b->den, b->num * a->den, DType::I64, ctx);
      bool is_comparison = op >= ElementOp::Equal && op <= ElementOp::GreaterOrEqual;
      return is_comparison ? r : Maybe();
    }
  }
}

Maybe real_unary(ElementOp op, double v, DType t, expr::Context&) {
  auto real = [&](double r) { return Element::make_real(round_to(r, t)); };
  switch (op) {
    case ElementOp::Neg: return real(-v);
    case ElementOp::Abs: return real(std::fabs(v));
    case ElementOp::Floor: return real(std::floor(v));
    case ElementOp::Ceil: return real(std::ceil(v));
    case ElementOp::Round: return real(std::nearbyint(v));
    case ElementOp::Sqrt: return real(std::sqrt(v));
    default: return std::nullopt;
  }
}

Maybe ratio_unary(ElementOp op, const Element& a, expr::Context& ctx) {
  Dim one = ctx.constant(1);
  switch (op) {
    case ElementOp::Neg: return Element::make_ratio(-a.num, a.den);
    case ElementOp::Abs: return Element::make_ratio(tight_max(a.num, -a.num, ctx), a.den);
    case ElementOp::Floor: return Element::make_ratio(expr::floordiv(a.num, a.den), one);
    case ElementOp::Ceil: return Element::make_ratio(expr::ceildiv(a.num, a.den), one);
    case ElementOp::Round: return a.den.is_const(1) ? Maybe(a) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

Maybe apply(ElementOp op, const Element& a, const Element& b, DType t, expr::Context& ctx) {
  if (a.kind == Element::Kind::Int && b.kind == Element::Kind::Int) return int_binary(op, a.num, b.num, t, ctx);
  if (a.kind == Element::Kind::Int || b.kind == Element::Kind::Int) return std::nullopt;
  if (a.is_const() && b.is_const()) return const_real_binary(op, a.real, b.real, t, ctx);
  return ratio_binary(op, a, b, ctx);
}

Maybe apply(ElementOp op, const Element& a, DType t, expr::Context& ctx) {
  if (a.kind == Element::Kind::Real) return real_unary(op, a.real, t, ctx);
  if (a.kind == Element::Kind::Ratio) return ratio_unary(op, a, ctx);
  switch (op) {
    case ElementOp::Neg: return int_binary(ElementOp::Sub, ctx.constant(0), a.num, t, ctx);
    case ElementOp::Abs: return Element::make_int(tight_max(a.num, -a.num, ctx));
    case ElementOp::Not: return Element::make_int(1 - a.num);
    case ElementOp::Sign: return Element::make_int(is_negative(-a.num, ctx) - is_negative(a.num, ctx));
    default: return std::nullopt;
  }
}

Maybe cast(const Element& a, DType from, DType to, expr::Context& ctx) {
  if (to == DType::F16 || to == DType::BF16) return std::nullopt;
  if (a.kind == Element::Kind::Int) {
    if (is_float(to)) {
      if (a.num.is_const()) return Element::make_real(round_to(static_cast<double>(a.num.const_value()), to));
      return Element::make_ratio(a.num, ctx.constant(1));
    }
    if (to == DType::Bool) {
      if (from == DType::Bool) return a;
      Maybe zero = int_binary(ElementOp::Equal, a.num, ctx.constant(0), DType::I64, ctx);
      return Element::make_int(1 - zero->num);
    }
    if (a.num.is_const()) return Element::make_int(ctx.constant(wrap(a.num.const_value(), to)));
    return a;
  }
  if (is_float(to)) return a.kind == Element::Kind::Real ? Element::make_real(round_to(a.real, to)) : a;
  if (a.kind == Element::Kind::Real) {
    if (to == DType::Bool) return Element::make_int(ctx.constant(a.real != 0));
    if (!(std::fabs(a.real) < 9e15)) return std::nullopt;
    int64_t v = static_cast<int64_t>(a.real);
    if (wrap(v, to) != v || (is_unsigned_int(to) && v < 0)) return std::nullopt;
    return Element::make_int(ctx.constant(v));
  }
  if (to == DType::Bool) return std::nullopt;
  auto q = truncating_div(a.num, a.den, ctx);
  if (!q) return std::nullopt;
  return Element::make_int(*q);
}

}  // namespace pliant::frontend
