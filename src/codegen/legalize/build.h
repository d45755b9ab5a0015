// Short forms for building Scalars of one float type and of the integers of its size.
#pragma once
#include <initializer_list>
#include <limits>

#include "expr/expr.h"

namespace pliant::codegen::rules {

using expr::BinaryOp;
using expr::Scalar;
using expr::ScalarKind;
using expr::UnaryOp;

struct Build {
  expr::Context& ctx;
  DType t;  // F32 or F64

  Scalar c(double v) const { return expr::make_const(ctx, t, v); }
  Scalar infinity() const { return c(std::numeric_limits<double>::infinity()); }
  Scalar nan() const { return c(std::numeric_limits<double>::quiet_NaN()); }
  Scalar fma(Scalar a, Scalar b, Scalar x) const { return expr::make_fma(a, b, x); }
  // c0 + x * (c1 + x * (…))
  Scalar horner(Scalar x, std::initializer_list<double> coefficients) const {
    auto it = std::rbegin(coefficients);
    Scalar sum = c(*it);
    for (++it; it != std::rend(coefficients); ++it) sum = fma(sum, x, c(*it));
    return sum;
  }
  Scalar un(UnaryOp op, Scalar x) const { return expr::make_unary(op, x); }
  Scalar bin(BinaryOp op, Scalar a, Scalar b) const { return expr::make_binary(op, a, b); }
  Scalar abs(Scalar x) const { return un(UnaryOp::Abs, x); }
  Scalar lt(Scalar a, Scalar b) const { return bin(BinaryOp::Lt, a, b); }
  Scalar eq(Scalar a, Scalar b) const { return bin(BinaryOp::Eq, a, b); }
  Scalar select(Scalar cond, Scalar a, Scalar b) const { return expr::make_select(cond, a, b); }
  // `magnitude` with the sign of `x`; a zero x counts as positive.
  Scalar signed_as(Scalar magnitude, Scalar x) const { return select(lt(x, c(0)), -magnitude, magnitude); }

  DType int_type() const { return t == DType::F32 ? DType::I32 : DType::I64; }
  Scalar i(int64_t v) const { return expr::make_const_int(ctx, int_type(), v); }
  Scalar bits(Scalar x) const { return expr::make_bitcast(int_type(), x); }
  Scalar from_bits(Scalar n) const { return expr::make_bitcast(t, n); }
  // `magnitude`, which is not negative, with the sign bit of `x`.
  Scalar with_sign_of(Scalar magnitude, Scalar x) const {
    const Scalar sign = bin(BinaryOp::BitAnd, bits(x), i(t == DType::F32 ? INT32_MIN : INT64_MIN));
    return from_bits(bin(BinaryOp::BitOr, bits(magnitude), sign));
  }
  Scalar shl(Scalar n, int64_t by) const { return bin(BinaryOp::Shl, n, i(by)); }
  Scalar shr(Scalar n, int64_t by) const { return bin(BinaryOp::Shr, n, i(by)); }
};

// e^x and log x for all x, in the type of the Build: within 1 and 2 ulp.
Scalar exp_of(const Build& b, Scalar x);
Scalar log_of(const Build& b, Scalar x);
// e^x of f32 for |x| up to 20, as good as sums with numbers near 1 need: within 1e-6 of the result.
Scalar exp_near_zero(const Build& b, Scalar x);

// Where functions of x lose digits, below 1e-3, a few terms of a series are exact enough.
inline Scalar small_or(const Build& b, Scalar x, Scalar small, Scalar large) {
  return b.select(b.lt(b.abs(x), b.c(1e-3)), small, large);
}

inline bool is_unary(Scalar s, UnaryOp op) { return s->kind == ScalarKind::Unary && s->unary() == op; }
inline bool is_binary(Scalar s, BinaryOp op) { return s->kind == ScalarKind::Binary && s->binary() == op; }
// f(x) of an f32 node computed in f64 and rounded.
template <class F>
Scalar through_f64(Scalar s, F&& f) {
  return expr::make_cast(DType::F32, f(Build{*s->ctx, DType::F64}, expr::make_cast(DType::F64, s->args[0])));
}

}  // namespace pliant::codegen::rules
