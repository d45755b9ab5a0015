// pow, rsqrt and recip.
//
// pow of f32 is exp(y log|x|) in f64, rounded: within 0.51 ulp, with the special cases of C. Constant exponents that are a
// few instructions are those instructions. pow of f64 stays a call.
#include "codegen/legalize/build.h"
#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

namespace {

Scalar constant_power(const Build& b, Scalar x, Scalar y) {
  if (y->kind != ScalarKind::Const) return {};
  auto is = [&](double v) { return y == b.c(v); };
  if (is(1)) return x;
  if (is(2)) return x * x;
  if (is(3)) return x * x * x;
  if (is(-1)) return b.c(1) / x;
  // A zero of either sign gives +0 and -inf gives +inf, unlike sqrt.
  if (is(0.5)) return b.select(b.eq(x, -b.infinity()), b.infinity(), b.un(UnaryOp::Sqrt, x + b.c(0)));
  return {};
}

Scalar pow_f32(Scalar s) {
  const Build d{*s->ctx, DType::F64};
  const Scalar x = expr::make_cast(DType::F64, s->args[0]), y = expr::make_cast(DType::F64, s->args[1]);
  const Scalar ax = d.abs(x);
  const Scalar one = d.bin(BinaryOp::Or, d.eq(y, d.c(0)), d.eq(ax, d.c(1)));
  // A NaN of y counts unless x is 1; a NaN of x unless y is 0.
  const Scalar magnitude = d.select(one, d.c(1), exp_of(d, y * log_of(d, ax)));
  auto truncated = [&](Scalar v) { return d.un(UnaryOp::Trunc, v); };
  const Scalar is_integer = d.eq(truncated(y), y);
  const Scalar half = y * d.c(0.5);
  const Scalar is_odd = d.bin(BinaryOp::And, is_integer, d.bin(BinaryOp::Ne, truncated(half), half));
  const Scalar negative = d.lt(d.bits(x), d.i(0));
  const Scalar signed_result = d.select(d.bin(BinaryOp::And, is_odd, negative), -magnitude, magnitude);
  const Scalar finite_negative = d.bin(BinaryOp::And, d.lt(x, d.c(0)), d.lt(-d.infinity(), x));
  const Scalar fractional = d.bin(BinaryOp::And, finite_negative, d.un(UnaryOp::Not, is_integer));
  const Scalar nan_exponent = d.bin(BinaryOp::And, d.un(UnaryOp::IsNan, y), d.bin(BinaryOp::Ne, x, d.c(1)));
  const Scalar undefined = d.bin(BinaryOp::Or, fractional, nan_exponent);
  return expr::make_cast(DType::F32, d.select(undefined, d.nan(), signed_result));
}

}  // namespace

Scalar rewrite_power(Scalar s) {
  const Build b{*s->ctx, s.dtype()};
  const bool is_f = s.dtype() == DType::F32 || s.dtype() == DType::F64;
  if (is_unary(s, UnaryOp::Recip)) return expr::make_const_int(*s->ctx, s.dtype(), 1) / s->args[0];
  if (is_unary(s, UnaryOp::Rsqrt) && is_f) return b.c(1) / b.un(UnaryOp::Sqrt, s->args[0]);
  if (!is_binary(s, BinaryOp::Pow) || !is_f) return {};
  if (Scalar simple = constant_power(b, s->args[0], s->args[1])) return simple;
  return s.dtype() == DType::F32 ? pow_f32(s) : Scalar{};
}

}  // namespace pliant::codegen::rules
