// Inverse trigonometric functions of f32: asin, acos and atan in f32, within 1.2 ulp; atan2 in f64 and rounded, within 0.51
// ulp. Those of f64 stay calls.
#include "codegen/legalize/build.h"
#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

namespace {

constexpr double kPi = 3.14159265358979323846;

// The sign bit of an f64, as a condition.
Scalar is_negative(const Build& b, Scalar x) { return b.lt(b.bits(x), b.i(0)); }

// atan(y / x) in the quadrant of (x, y), f64 arithmetic, absolute error below 1e-15 times the result's size; NaN where an
// argument is.
Scalar arc_tangent(const Build& b, Scalar y, Scalar x) {
  const Scalar ay = b.abs(y), ax = b.abs(x);
  const Scalar steep = b.lt(ax, ay);
  const Scalar low = b.select(steep, ax, ay), high = b.select(steep, ay, ax);
  // Two zeros and two infinities have the ratios 0 and 1.
  const Scalar infinite = b.eq(low, b.infinity());
  const Scalar ratio = b.select(b.eq(high, b.c(0)), b.c(0), b.select(infinite, b.c(1), low / high));
  // Above tan(pi/8): atan t = pi/4 + atan((t - 1) / (t + 1)).
  const Scalar upper = b.lt(b.c(0.41421356237309503), ratio);
  const Scalar t = b.select(upper, (ratio - b.c(1)) / (ratio + b.c(1)), ratio);
  const Scalar z = t * t;
  const Scalar series = b.horner(z, {-1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13, -1.0 / 15, 1.0 / 17,
                                     -1.0 / 19, 1.0 / 21, -1.0 / 23, 1.0 / 25, -1.0 / 27, 1.0 / 29, -1.0 / 31, 1.0 / 33});
  Scalar angle = b.fma(t * z, series, t) + b.select(upper, b.c(kPi / 4), b.c(0));
  angle = b.select(steep, b.c(kPi / 2) - angle, angle);
  angle = b.select(is_negative(b, x), b.c(kPi) - angle, angle);
  return b.select(is_negative(b, y), -angle, angle);
}

// pi/2 in two parts of f32.
constexpr double kHalfPi = 0x1.921fb6p+0, kHalfPiRest = -0x1.777a5cp-25;

// Above 1, atan t = pi/2 - atan(1 / t).
Scalar atan_f32(const Build& b, Scalar x) {
  const Scalar t = b.abs(x);
  const Scalar steep = b.lt(b.c(1), t);
  const Scalar u = b.select(steep, b.c(-1) / t, t);
  const Scalar z = u * u;
  // u + u^3 p(u^2): minimax, 3.1e-9 of the result.
  const Scalar p =
      b.horner(z, {-0.3333332718386495, 0.19999301408124096, -0.1427161817500014, 0.10988409141975608, -0.08504043294584551,
                   0.05960913694815039, -0.03276658550091277, 0.011742292029872384, -0.0019739021208964665});
  const Scalar base = b.select(steep, b.c(kHalfPi), b.c(0)), sum = base + u;
  const Scalar lost = u - (sum - base);
  const Scalar rest = b.fma(u * z, p, b.select(steep, b.c(kHalfPiRest), b.c(0)));
  return b.with_sign_of(sum + (rest + lost), x);
}

// Of t = |x|: asin t = s + s^3 p(s^2) with s = t up to 1/2; above, pi/2 - 2 asin s with s = sqrt((1 - t) / 2).
struct ArcSine {
  Scalar large;  // t above 1/2
  Scalar s, rest;
};
ArcSine arc_sine(const Build& b, Scalar t) {
  const Scalar large = b.lt(b.c(0.5), t);
  const Scalar z = b.select(large, b.fma(t, b.c(-0.5), b.c(0.5)), t * t);
  const Scalar s = b.select(large, b.un(UnaryOp::Sqrt, z), t);
  // Minimax, 3.7e-10 of the result.
  const Scalar p = b.horner(z, {0.16666664838033865, 0.07500284620988408, 0.044551767074608124, 0.03155667493256625,
                                0.015281750023601525, 0.03644479753800266});
  return {large, s, s * z * p};
}

// whole + factor s, and `rest` with what its rounding loses.
Scalar scaled_sum(const Build& b, Scalar whole, Scalar factor, Scalar s, Scalar rest) {
  const Scalar sum = b.fma(s, factor, whole);
  return sum + (rest + b.fma(s, factor, whole - sum));
}

Scalar asin_f32(const Build& b, Scalar x) {
  const auto [large, s, rest] = arc_sine(b, b.abs(x));
  const Scalar far = scaled_sum(b, b.c(kHalfPi), b.c(-2), s, b.fma(rest, b.c(-2), b.c(kHalfPiRest)));
  return b.with_sign_of(b.select(large, far, s + rest), x);
}

// pi/2 - asin x up to 1/2, 2 asin s above, and pi less that below -1/2: constants by the case, one sum.
Scalar acos_f32(const Build& b, Scalar x) {
  const auto [large, s, rest] = arc_sine(b, b.abs(x));
  const Scalar negative = b.lt(x, b.c(0));
  auto choose = [&](double near, double above, double below) {
    return b.select(large, b.select(negative, b.c(below), b.c(above)), b.c(near));
  };
  // The sign of asin s in the result.
  const Scalar factor = b.select(large, b.select(negative, b.c(-2), b.c(2)), b.select(negative, b.c(1), b.c(-1)));
  const Scalar whole = choose(kHalfPi, 0, 2 * kHalfPi), part = choose(kHalfPiRest, 0, 2 * kHalfPiRest);
  return scaled_sum(b, whole, factor, s, b.fma(rest, factor, part));
}

}  // namespace

Scalar rewrite_arc(Scalar s) {
  if (s.dtype() != DType::F32) return {};
  if (is_binary(s, BinaryOp::Atan2)) {
    const Build d{*s->ctx, DType::F64};
    const Scalar y = expr::make_cast(DType::F64, s->args[0]), x = expr::make_cast(DType::F64, s->args[1]);
    const Scalar undefined = d.bin(BinaryOp::Or, d.un(UnaryOp::IsNan, x), d.un(UnaryOp::IsNan, y));
    const Scalar angle = d.select(undefined, d.nan(), arc_tangent(d, y, x));
    return expr::make_cast(DType::F32, angle);
  }
  if (s->kind != ScalarKind::Unary) return {};
  const Build b{*s->ctx, DType::F32};
  switch (s->unary()) {
    case UnaryOp::Atan: return atan_f32(b, s->args[0]);
    case UnaryOp::Asin: return asin_f32(b, s->args[0]);
    case UnaryOp::Acos: return acos_f32(b, s->args[0]);
    default: return {};
  }
}

}  // namespace pliant::codegen::rules
