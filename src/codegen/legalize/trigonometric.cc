// sin, cos and tan of f32, sin and cos of f64; tan of f64 stays a call.
//
// x = q pi/2 + r with |r| <= pi/4, q modulo 4. For sin and cos of f32 up to 2^17 by f32 arithmetic with pi/2 in three parts;
// for those of f64 up to 2^30 likewise, beyond which they are calls. The rest of f32 up to 2^40 by f64 arithmetic with pi/2
// in two parts: q has at most 41 bits, so r is good to 2^-65. Above, by integers (Payne and Hanek): x = m 2^e with m of 24
// bits, and x 2/pi modulo 4 needs only a window of the bits of 2/pi that starts where e says. That side of the Select is
// long, so it is skipped by a branch unless some lane takes it.
//
// Errors: sin and cos 1.6 ulp, tan of f32 0.51 ulp.
#include "codegen/legalize/build.h"
#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

namespace {

struct Quadrant {
  Scalar r;
  Scalar q;  // an integer of r's size, the last two bits count
};

// In f64.
Quadrant reduce_moderate(const Build& d, Scalar x) {
  const Scalar magic = d.c(0x1.8p52);
  const Scalar shifted = d.fma(x, d.c(0.63661977236758134308), magic);
  const Scalar n = shifted - magic;
  Scalar r = d.fma(n, d.c(-0x1.921fb54442d18p+0), x);
  r = d.fma(n, d.c(-0x1.1a62633145c07p-54), r);
  return {r, d.bits(shifted)};
}

// `x` is the f32, finite and at least 2^40 in size.
Quadrant reduce_huge(const Build& d, Scalar x) {
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

Quadrant reduce(const Build& d, Scalar x) {
  const Scalar wide = expr::make_cast(DType::F64, x);
  const Quadrant usual = reduce_moderate(d, wide);
  const Quadrant rare = reduce_huge(d, x);
  const Scalar size = d.abs(wide);
  const Scalar huge = d.bin(BinaryOp::And, d.lt(d.c(0x1p40), size), d.lt(size, d.infinity()));
  const Scalar r = d.select(huge, rare.r, usual.r);
  // Infinity has no remainder.
  return {d.select(d.eq(size, d.infinity()), d.nan(), r), d.select(huge, rare.q, usual.q)};
}

Scalar has_bit(const Build& d, Scalar n, int64_t bit) {
  return d.bin(BinaryOp::Ne, d.bin(BinaryOp::BitAnd, n, d.i(bit)), d.i(0));
}

// pi/2 in parts. What n times the first leaves of x is exact: both are multiples of the last place of numbers near 1.
struct HalfPi {
  double magic, parts[3];
};
constexpr HalfPi kHalfPiF32 = {0x1.8p23, {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50}};
constexpr HalfPi kHalfPiF64 = {0x1.8p52, {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110}};

Quadrant reduce_small(const Build& b, Scalar x) {
  const HalfPi& h = b.t == DType::F32 ? kHalfPiF32 : kHalfPiF64;
  const Scalar magic = b.c(h.magic), shifted = b.fma(x, b.c(0.63661977236758134308), magic), n = shifted - magic;
  const Scalar first = b.fma(n, b.c(-h.parts[0]), x);
  // Where the second product is not small beside the first difference, their difference is exact.
  const Scalar second = n * b.c(h.parts[1]);
  const Scalar rest = b.fma(n, b.c(h.parts[2]), b.fma(n, b.c(h.parts[1]), -second));
  return {(first - second) - rest, b.bits(shifted)};
}

// sin(r + q pi/2) for |r| up to pi/4.
Scalar sine_in(const Build& b, const Quadrant& x) {
  const Scalar r = x.r, z = r * r;
  const bool single = b.t == DType::F32;
  const Scalar p =
      single ? b.horner(z, {-0.1666666716337204, 0.008333329111337662, -0.0001983930415008217, 2.718046516747563e-06})
             : b.horner(z, {-0.16666666666666666, 0.008333333333330946, -0.000198412698367542, 2.7557316100283695e-06,
                            -2.5051131372218632e-08, 1.5918095236696272e-10});  // 2.1e-17
  const Scalar q =
      single ? b.horner(z, {0.0416666679084301, -0.0013888883404433727, 2.479945214872714e-05, -2.720504710396199e-07})
             : b.horner(z, {0.041666666666666664, -0.0013888888888887395, 2.480158729876295e-05, -2.755731727031051e-07,
                            2.087614597263508e-09, -1.1382611119025631e-11});  // 1.3e-18
  const Scalar sin = b.fma(r * z, p, r);
  const Scalar cos = b.fma(z * z, q, b.fma(z, b.c(-0.5), b.c(1)));
  const Scalar magnitude = b.select(has_bit(b, x.q, 1), cos, sin);
  // Bit 1 of q is the sign.
  const int64_t top = single ? 31 : 63;
  return b.from_bits(b.bin(BinaryOp::BitXor, b.bits(magnitude), b.shl(b.shr(x.q, 1), top)));
}

// Sums lose the sign of a zero, which a sine has.
Scalar with_zeros(const Build& b, Scalar x, Scalar sine) { return b.select(b.eq(x, b.c(0)), x, sine); }

Scalar sine(Scalar s, int64_t quarter_turns) {
  const Build d{*s->ctx, DType::F64};
  const Build b{*s->ctx, DType::F32};
  Quadrant small = reduce_small(b, s->args[0]);
  const Quadrant x = reduce(d, s->args[0]);
  Quadrant large{expr::make_cast(DType::F32, x.r), expr::make_cast(DType::I32, d.bin(BinaryOp::BitAnd, x.q, d.i(3)))};
  if (quarter_turns != 0) {
    small.q = small.q + b.i(quarter_turns);
    large.q = large.q + b.i(quarter_turns);
  }
  const Scalar is_small = b.lt(b.abs(s->args[0]), b.c(0x1p17));
  const Scalar out = sine_in(b, {b.select(is_small, small.r, large.r), b.select(is_small, small.q, large.q)});
  return quarter_turns == 0 ? with_zeros(b, s->args[0], out) : out;
}

// Beyond 2^30, and of what is not finite, the call: of a negated argument, which the rule leaves alone.
Scalar sine_f64(Scalar s, int64_t quarter_turns) {
  const Build b{*s->ctx, DType::F64};
  const Scalar x = s->args[0];
  Quadrant small = reduce_small(b, x);
  if (quarter_turns != 0) small.q = small.q + b.i(quarter_turns);
  const Scalar rare = quarter_turns == 0 ? -b.un(UnaryOp::Sin, -x) : b.un(UnaryOp::Cos, -x);
  const Scalar out = b.select(b.lt(b.abs(x), b.c(0x1p30)), sine_in(b, small), rare);
  return quarter_turns == 0 ? with_zeros(b, x, out) : out;
}

Scalar tangent(Scalar s) {
  const Build d{*s->ctx, DType::F64};
  const Quadrant x = reduce(d, s->args[0]);
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
  if (s.dtype() == DType::F64 && (is_unary(s, UnaryOp::Sin) || is_unary(s, UnaryOp::Cos)) &&
      !is_unary(s->args[0], UnaryOp::Neg))
    return sine_f64(s, is_unary(s, UnaryOp::Cos) ? 1 : 0);
  if (s.dtype() != DType::F32) return {};
  if (is_unary(s, UnaryOp::Sin)) return sine(s, 0);
  if (is_unary(s, UnaryOp::Cos)) return sine(s, 1);
  if (is_unary(s, UnaryOp::Tan)) return tangent(s);
  return {};
}

}  // namespace pliant::codegen::rules
