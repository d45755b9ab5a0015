// log and its relatives.
//
// x = 2^e * m with m in [sqrt(1/2), sqrt(2)); log x = e ln 2 + log(1 + f), f = m - 1. Subnormals are scaled first. What is
// not a positive finite number is chosen at the end: log 0 is -inf, log of a negative number NaN, inf and NaN stay.
//
// Errors: log of f32 0.8 ulp, log of f64 1 ulp, f32 log1p, asinh, acosh and atanh 0.51 ulp. The latter four of f64 stay
// calls.
#include "codegen/legalize/build.h"
#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

namespace {

// exponent and f = mantissa - 1 of a positive number.
struct Parts {
  Scalar exponent, f;
};
Parts split(const Build& b, Scalar x) {
  const bool single = b.t == DType::F32;
  const int64_t mantissa = single ? 23 : 52;
  const Scalar tiny = b.lt(x, b.c(single ? 0x1p-126 : 0x1p-1022));
  x = b.select(tiny, x * b.c(single ? 0x1p23 : 0x1p52), x);
  const Scalar root_half = b.bits(b.c(0.70710678118654752440));
  const Scalar n = b.bits(x) - root_half;
  const Scalar m = b.from_bits(b.bin(BinaryOp::BitAnd, n, b.i((int64_t{1} << mantissa) - 1)) + root_half);
  const Scalar e = b.shr(n, mantissa) - b.select(tiny, b.i(mantissa), b.i(0));
  return {expr::make_cast(b.t, e), m - b.c(1)};
}

Scalar with_special_cases(const Build& b, Scalar x, Scalar log) {
  const Scalar other = b.select(b.lt(x, b.c(0)), b.nan(), x);
  const Scalar special = b.select(b.eq(x, b.c(0)), -b.infinity(), other);
  const Scalar usual = b.bin(BinaryOp::And, b.lt(b.c(0), x), b.lt(x, b.infinity()));
  return b.select(usual, log, special);
}

Scalar log_f32(const Build& b, Scalar x) {
  const auto [e, f] = split(b, x);
  const Scalar square = f * f;
  // log(1 + f) = f - f^2 / 2 + f^3 p(f): minimax of degree 8 for p, 7.5e-10 relative.
  const Scalar p =
      b.horner(f, {0.3333331346511841, -0.25000008940696716, 0.2000211924314499, -0.1666799634695053, 0.14219550788402557,
                   -0.12405591458082199, 0.11888174712657928, -0.11675640940666199, 0.06746601313352585});
  Scalar low = b.fma(square * f, p, square * b.c(-0.5));
  low = b.fma(e, b.c(-2.12194440054690583e-4), low);
  return with_special_cases(b, x, b.fma(e, b.c(0.693359375), f + low));
}

Scalar log_f64(const Build& b, Scalar x) {
  const auto [e, f] = split(b, x);
  // log(1 + f) = 2 atanh(s) with s = f / (2 + f), |s| <= 0.172: the series to s^21, rest below 1e-18.
  const Scalar s = f / (f + b.c(2));
  const Scalar z = s * s;
  const Scalar r =
      z * b.horner(z, {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21});
  // f - (f^2/2 - s (f^2/2 + r)) keeps f's own digits.
  const Scalar half_square = f * f * b.c(0.5);
  const Scalar low = b.fma(s, half_square + r, e * b.c(1.90821492927058770002e-10));
  return with_special_cases(b, x, b.fma(e, b.c(6.93147180369123816490e-01), f - (half_square - low)));
}

}  // namespace

Scalar log_of(const Build& b, Scalar x) { return b.t == DType::F32 ? log_f32(b, x) : log_f64(b, x); }

Scalar rewrite_logarithm(Scalar s) {
  if (s->kind != ScalarKind::Unary || (s.dtype() != DType::F32 && s.dtype() != DType::F64)) return {};
  if (s->unary() == UnaryOp::Log) return log_of(Build{*s->ctx, s.dtype()}, s->args[0]);
  if (s.dtype() != DType::F32) return {};
  switch (s->unary()) {
    case UnaryOp::Log1p:
      return through_f64(s, [](const Build& d, Scalar x) {
        return small_or(d, x, d.fma(x * x, d.horner(x, {-1.0 / 2, 1.0 / 3, -1.0 / 4}), x), log_of(d, x + d.c(1)));
      });
    case UnaryOp::Asinh:
      return through_f64(s, [](const Build& d, Scalar x) {
        const Scalar t = d.abs(x);
        const Scalar large = d.signed_as(log_of(d, t + d.un(UnaryOp::Sqrt, d.fma(t, t, d.c(1)))), x);
        return small_or(d, x, x * d.fma(x * x, d.c(-1.0 / 6), d.c(1)), large);
      });
    case UnaryOp::Acosh:
      return through_f64(s, [](const Build& d, Scalar x) {
        const Scalar root = d.un(UnaryOp::Sqrt, (x - d.c(1)) * (x + d.c(1)));
        // Below 1 the root is NaN only for |x| < 1.
        return d.select(d.lt(x, d.c(1)), d.nan(), log_of(d, x + root));
      });
    case UnaryOp::Atanh:
      return through_f64(s, [](const Build& d, Scalar x) {
        const Scalar large = log_of(d, (d.c(1) + x) / (d.c(1) - x)) * d.c(0.5);
        return small_or(d, x, d.fma(x * x * x, d.c(1.0 / 3), x), large);
      });
    default: return {};
  }
}

}  // namespace pliant::codegen::rules
