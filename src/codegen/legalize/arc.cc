// Inverse trigonometric functions of f32, computed in f64 and rounded: within 0.51 ulp. Those of f64 stay calls.
//
// All come from one arc tangent: asin x = atan2(x, sqrt(1 - x^2)), acos x = atan2(sqrt(1 - x^2), x).
#include <limits>

#include "codegen/legalize/build.h"
#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

namespace {

constexpr double kPi = 3.14159265358979323846;

// The sign bit of an f64, as a condition.
Scalar is_negative(const Build& b, Scalar x) { return b.lt(b.bits(x), b.i(0)); }

}  // namespace

Scalar arc_tangent(const Build& b, Scalar y, Scalar x) {
  const Scalar ay = b.abs(y), ax = b.abs(x);
  const Scalar steep = b.lt(ax, ay);
  const Scalar low = b.select(steep, ax, ay), high = b.select(steep, ay, ax);
  // Two zeros and two infinities have the ratios 0 and 1.
  const Scalar infinite = b.eq(low, b.c(std::numeric_limits<double>::infinity()));
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

Scalar rewrite_arc(Scalar s) {
  if (s.dtype() != DType::F32) return {};
  if (is_binary(s, BinaryOp::Atan2)) {
    const Build d{*s->ctx, DType::F64};
    const Scalar y = expr::make_cast(DType::F64, s->args[0]), x = expr::make_cast(DType::F64, s->args[1]);
    const Scalar undefined = d.bin(BinaryOp::Or, d.un(UnaryOp::IsNan, x), d.un(UnaryOp::IsNan, y));
    const Scalar angle = d.select(undefined, d.c(std::numeric_limits<double>::quiet_NaN()), arc_tangent(d, y, x));
    return expr::make_cast(DType::F32, angle);
  }
  if (s->kind != ScalarKind::Unary) return {};
  auto leg = [](const Build& d, Scalar x) { return d.un(UnaryOp::Sqrt, (d.c(1) - x) * (d.c(1) + x)); };
  switch (s->unary()) {
    case UnaryOp::Atan:
      return through_f64(
          s, [](const Build& d, Scalar x) { return d.select(d.un(UnaryOp::IsNan, x), x, arc_tangent(d, x, d.c(1))); });
    case UnaryOp::Asin:
      return through_f64(s, [&](const Build& d, Scalar x) {
        const Scalar root = leg(d, x);
        return d.select(d.un(UnaryOp::IsNan, root), root, arc_tangent(d, x, root));
      });
    case UnaryOp::Acos:
      return through_f64(s, [&](const Build& d, Scalar x) {
        const Scalar root = leg(d, x);
        return d.select(d.un(UnaryOp::IsNan, root), root, arc_tangent(d, root, x));
      });
    default: return {};
  }
}

}  // namespace pliant::codegen::rules
