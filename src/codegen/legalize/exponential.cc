// exp and its relatives.
//
// exp(x) = 2^n * e^r with n = round(x / ln 2) and r = x - n ln 2 in two parts, |r| <= 0.347. n comes out of the addition of
// 1.5 * 2^(mantissa bits), which leaves it in the low bits of the sum, so no conversion is needed and NaN passes through.
// 2^n is applied in two factors of half the exponent: results from the smallest subnormal to infinity are right without
// branches.
//
// Errors: exp 1 ulp, sigmoid 2 ulp, tanh 1.3 ulp, expm1, sinh and cosh of f32 0.51 ulp.
// exp of f64 within 1 ulp, tanh within 3. f64 expm1, sinh and cosh stay calls.
#include "codegen/legalize/build.h"
#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

namespace {

Scalar scale_by_power(const Build& b, Scalar x, Scalar n) {
  const int64_t mantissa = b.t == DType::F32 ? 23 : 52;
  const int64_t bias = b.t == DType::F32 ? 127 : 1023;
  auto power = [&](Scalar k) { return b.from_bits(b.shl(k + b.i(bias), mantissa)); };
  const Scalar half = b.shr(n, 1);
  return x * power(half) * power(n - half);
}

// 1 + r + r^2 q(r), e^r for |r| <= 0.347: minimax of degree 4 for q, 3.3e-9 relative.
Scalar exp_of_rest_f32(const Build& b, Scalar r) {
  const Scalar q = b.horner(
      r, {0.4999999403953552, 0.16666515171527863, 0.04166845604777336, 0.008369418792426586, 0.0013813142431899905});
  return b.fma(r * r, q, r) + b.c(1);
}

// e^r, and what has n in its low bits: x / ln 2 + magic.
struct ReducedF32 {
  Scalar exp, shifted;
};
ReducedF32 reduce_f32(const Build& b, Scalar x, Scalar magic) {
  const Scalar shifted = b.fma(x, b.c(1.44269504088896341), magic);
  const Scalar n = shifted - magic;
  Scalar r = b.fma(n, b.c(-0.693145751953125), x);
  r = b.fma(n, b.c(-1.42860682030941723e-6), r);
  return {exp_of_rest_f32(b, r), shifted};
}

Scalar exp_f32(const Build& b, Scalar x) {
  // e^89 is infinite and e^-104 is zero in f32.
  x = b.bin(BinaryOp::Max, b.bin(BinaryOp::Min, x, b.c(89)), b.c(-104));
  const Scalar magic = b.c(0x1.8p23);
  const auto [exp, shifted] = reduce_f32(b, x, magic);
  return scale_by_power(b, exp, b.bits(shifted) - b.bits(magic));
}

// For x up to 0: 2^(n + 64) only moves the exponent, and a product takes 2^64 back, rounding what is subnormal.
Scalar exp_below_zero(const Build& b, Scalar x) {
  const auto [exp, shifted] = reduce_f32(b, b.bin(BinaryOp::Max, x, b.c(-104)), b.c(0x1.8p23 + 64));
  return b.from_bits(b.bits(exp) + b.shl(b.bits(shifted), 23)) * b.c(0x1p-64);
}

// e^x = 2^n (1 + p).
struct RestOfExp {
  Scalar p;
  Scalar n;  // i64
};
RestOfExp reduce_f64(const Build& b, Scalar x) {
  const Scalar magic = b.c(0x1.8p52);
  const Scalar shifted = b.fma(x, b.c(1.4426950408889634074), magic);
  const Scalar n = shifted - magic;
  Scalar r = b.fma(n, b.c(-0x1.62e42fefa38p-1), x);
  r = b.fma(n, b.c(-0x1.ef35793c7673p-45), r);
  // The series to 1/13!, whose rest is below 5e-18.
  const Scalar q = b.horner(r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
                                1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0});
  return {b.fma(r * r, q, r), b.bits(shifted) - b.bits(magic)};
}

Scalar exp_f64(const Build& b, Scalar x) {
  const RestOfExp rest = reduce_f64(b, b.bin(BinaryOp::Max, b.bin(BinaryOp::Min, x, b.c(710)), b.c(-746)));
  return scale_by_power(b, rest.p + b.c(1), rest.n);
}

Scalar sigmoid(const Build& b, Scalar x) {
  // From e^-|x|, which does not overflow: 1 / (1 + e) for x >= 0, e / (1 + e) below.
  const Scalar e = b.t == DType::F32 ? exp_below_zero(b, -b.abs(x)) : exp_f64(b, -b.abs(x));
  return b.select(b.lt(x, b.c(0)), e, b.c(1)) / (e + b.c(1));
}

Scalar tanh_f32(const Build& b, Scalar x) {
  const Scalar t = b.abs(x);
  const Scalar square = x * x;
  // x (1 + x^2 p(x^2)), which keeps a negative zero: minimax on [0, 0.63], 4.8e-9 relative.
  const Scalar p = b.horner(square, {-0.33333277702331543, 0.13331331312656403, -0.05373000726103783, 0.020606180652976036,
                                     -0.005666980054229498});
  const Scalar near = x * b.fma(square, p, b.c(1));
  // From 10 on the result is 1.
  const Scalar twice = b.bin(BinaryOp::Min, t + t, b.c(20));
  const Scalar e = exp_near_zero(b, twice);
  const Scalar far = b.c(1) - b.c(2) / (e + b.c(1));
  // NaN is not far: there the bits would not survive.
  return b.select(b.bin(BinaryOp::Ge, t, b.c(0.625)), b.with_sign_of(far, x), near);
}

// e / (2 - e) with e = -expm1(-2 |x|), which is (1 - 2^n) - 2^n p with p = e^r - 1: no digits are lost near zero.
Scalar tanh_f64(const Build& b, Scalar x) {
  const Scalar y = b.bin(BinaryOp::Min, b.abs(x), b.c(22)) * b.c(-2);  // from 22 on the result is 1
  const RestOfExp rest = reduce_f64(b, y);
  const Scalar power = b.from_bits(b.shl(rest.n + b.i(1023), 52));
  const Scalar e = b.fma(power, -rest.p, b.c(1) - power);
  return b.with_sign_of(e / (b.c(2) - e), x);
}

}  // namespace

Scalar exp_near_zero(const Build& b, Scalar x) {
  const Scalar magic = b.c(0x1.8p23);
  const Scalar shifted = b.fma(x, b.c(1.44269504088896341), magic);
  const Scalar rest = b.fma(shifted - magic, b.c(-0.693147180559945309), x);
  return b.from_bits(b.bits(exp_of_rest_f32(b, rest)) + b.shl(b.bits(shifted), 23));
}

Scalar exp_of(const Build& b, Scalar x) { return b.t == DType::F32 ? exp_f32(b, x) : exp_f64(b, x); }

Scalar rewrite_exponential(Scalar s) {
  if (s->kind != ScalarKind::Unary || (s.dtype() != DType::F32 && s.dtype() != DType::F64)) return {};
  const Build b{*s->ctx, s.dtype()};
  if (s->unary() == UnaryOp::Exp) return exp_of(b, s->args[0]);
  if (s->unary() == UnaryOp::Sigmoid) return sigmoid(b, s->args[0]);
  if (s->unary() == UnaryOp::Tanh && s.dtype() == DType::F64) return tanh_f64(b, s->args[0]);
  if (s.dtype() != DType::F32) return {};
  switch (s->unary()) {
    case UnaryOp::Tanh: return tanh_f32(b, s->args[0]);
    case UnaryOp::Expm1:
      return through_f64(s, [](const Build& d, Scalar x) {
        return small_or(d, x, x * d.fma(x, d.horner(x, {1.0 / 2, 1.0 / 6, 1.0 / 24}), d.c(1)), exp_of(d, x) - d.c(1));
      });
    case UnaryOp::Sinh:
      return through_f64(s, [](const Build& d, Scalar x) {
        const Scalar e = exp_of(d, x);
        return small_or(d, x, d.fma(x * x * x, d.c(1.0 / 6), x), (e - d.c(1) / e) * d.c(0.5));
      });
    case UnaryOp::Cosh:
      return through_f64(s, [](const Build& d, Scalar x) {
        const Scalar e = exp_of(d, x);
        return (e + d.c(1) / e) * d.c(0.5);
      });
    default: return {};
  }
}

}  // namespace pliant::codegen::rules
