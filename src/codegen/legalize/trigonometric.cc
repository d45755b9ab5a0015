// sin, cos and tan of f32; those of f64 stay calls.
//
// x = q pi/2 + r with |r| <= pi/4, q modulo 4. Up to 2^40 by f64 arithmetic with pi/2 in two parts: q has at most 41 bits,
// so r is good to 2^-65. Above, by integers (Payne and Hanek): x = m 2^e with m of 24 bits, and x 2/pi modulo 4 needs only a
// window of the bits of 2/pi that starts where e says. That side of the Select is long, so it is skipped by a branch unless
// some lane takes it.
//
// Errors: sin and cos 1.9 ulp, tan 0.51 ulp.
#include <limits>

#include "codegen/legalize/build.h"
#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

namespace {

struct Reduced {
  Scalar r;  // f64
  Scalar q;  // i64, the last two bits count
};

Reduced reduce_moderate(const Build& d, Scalar x) {
  const Scalar magic = d.c(0x1.8p52);
  const Scalar shifted = d.fma(x, d.c(0.63661977236758134308), magic);
  const Scalar n = shifted - magic;
  Scalar r = d.fma(n, d.c(-0x1.921fb54442d18p+0), x);
  r = d.fma(n, d.c(-0x1.1a62633145c07p-54), r);
  return {r, d.bits(shifted)};
}

// `x` is the f32, finite and at least 2^40 in size.
Reduced reduce_huge(const Build& d, Scalar x) {
  expr::Context& ctx = d.ctx;
  auto number = [&](uint64_t v) { return expr::make_const_bits(ctx, DType::U64, v); };
  auto bin = [&](BinaryOp op, Scalar a, Scalar b) { return expr::make_binary(op, a, b); };
  const Scalar bits = expr::make_cast(DType::U64, expr::make_bitcast(DType::U32, x));
  const Scalar exponent = bin(BinaryOp::BitAnd, bin(BinaryOp::Shr, bits, number(23)), number(255));
  const Scalar m = bin(BinaryOp::BitOr, bin(BinaryOp::BitAnd, bits, number(0x7fffff)), number(0x800000));
  // The bits of 2/pi; the window of 96 starts at bit e - 2 = exponent - 152, at most 102.
  const Scalar word[] = {number(0xa2f9836e4e441529), number(0xfc2757d1f534ddc0), number(0xdb6295993c439041),
                         number(0xfe5163abdebbc561)};
  const Scalar start = exponent - number(152);
  const Scalar second = bin(BinaryOp::Le, number(64), start);
  const Scalar shift = bin(BinaryOp::BitAnd, start, number(63));
  auto pick = [&](int k) { return expr::make_select(second, word[k + 1], word[k]); };
  auto window = [&](int k) {
    return bin(BinaryOp::BitOr, bin(BinaryOp::Shl, pick(k), shift), bin(BinaryOp::Shr, pick(k + 1), number(64) - shift));
  };
  const Scalar low = bin(BinaryOp::Shr, m * bin(BinaryOp::Shr, window(1), number(32)), number(32));
  const Scalar product = m * window(0) + low;  // x 2/pi * 2^62 modulo 2^64
  const Scalar q = bin(BinaryOp::Shr, product + number(uint64_t{1} << 61), number(62));
  const Scalar fraction = expr::make_cast(DType::I64, product - bin(BinaryOp::Shl, q, number(62)));
  const Scalar r = expr::make_cast(DType::F64, fraction) * d.c(0x1.921fb54442d18p-62);
  const Scalar negative =
      expr::make_binary(BinaryOp::Lt, expr::make_bitcast(DType::I32, x), expr::make_const_int(ctx, DType::I32, 0));
  const Scalar turns = expr::make_cast(DType::I64, q);
  return {d.select(negative, -r, r), d.select(negative, -turns, turns)};
}

Reduced reduce(const Build& d, Scalar x) {
  const Scalar wide = expr::make_cast(DType::F64, x);
  const Reduced usual = reduce_moderate(d, wide);
  const Reduced rare = reduce_huge(d, x);
  const Scalar size = d.abs(wide);
  const Scalar huge =
      d.bin(BinaryOp::And, d.lt(d.c(0x1p40), size), d.lt(size, d.c(std::numeric_limits<double>::infinity())));
  const Scalar r = d.select(huge, rare.r, usual.r);
  // Infinity has no remainder.
  const Scalar infinite = d.eq(size, d.c(std::numeric_limits<double>::infinity()));
  return {d.select(infinite, d.c(std::numeric_limits<double>::quiet_NaN()), r), d.select(huge, rare.q, usual.q)};
}

Scalar has_bit(const Build& d, Scalar n, int64_t bit) {
  return d.bin(BinaryOp::Ne, d.bin(BinaryOp::BitAnd, n, d.i(bit)), d.i(0));
}

Scalar sine(Scalar s, int64_t quarter_turns) {
  const Build d{*s->ctx, DType::F64};
  const Build b{*s->ctx, DType::F32};
  const Reduced x = reduce(d, s->args[0]);
  const Scalar q = quarter_turns == 0 ? x.q : x.q + d.i(quarter_turns);
  const Scalar r = expr::make_cast(DType::F32, x.r);
  const Scalar z = r * r;
  const Scalar sin =
      r * b.fma(z, b.horner(z, {-0.1666666716337204, 0.008333329111337662, -0.0001983930415008217, 2.718046516747563e-06}),
                b.c(1));
  const Scalar cos =
      b.fma(z * z, b.horner(z, {0.0416666679084301, -0.0013888883404433727, 2.479945214872714e-05, -2.720504710396199e-07}),
            b.fma(z, b.c(-0.5), b.c(1)));
  const Scalar magnitude = b.select(has_bit(d, q, 1), cos, sin);
  return b.select(has_bit(d, q, 2), -magnitude, magnitude);
}

Scalar tangent(Scalar s) {
  const Build d{*s->ctx, DType::F64};
  const Reduced x = reduce(d, s->args[0]);
  const Scalar z = x.r * x.r;
  const Scalar sin =
      x.r *
      d.fma(z, d.horner(z, {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0}), d.c(1));
  const Scalar cos =
      d.fma(z, d.horner(z, {-1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600}), d.c(1));
  const Scalar odd = has_bit(d, x.q, 1);
  return expr::make_cast(DType::F32, d.select(odd, -cos, sin) / d.select(odd, sin, cos));
}

}  // namespace

Scalar rewrite_trigonometric(Scalar s) {
  if (s.dtype() != DType::F32) return {};
  if (is_unary(s, UnaryOp::Sin)) return sine(s, 0);
  if (is_unary(s, UnaryOp::Cos)) return sine(s, 1);
  if (is_unary(s, UnaryOp::Tan)) return tangent(s);
  return {};
}

}  // namespace pliant::codegen::rules
