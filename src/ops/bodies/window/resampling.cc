#include "ops/bodies/window/resampling.h"

#include <cmath>

namespace pliant::ops {
namespace {

Scalar f32(Dim d) { return number(DType::F32, d); }

// A position as an exact fraction of Dims; null where it is not one.
struct Fraction {
  Dim num, den;
};
std::optional<Fraction> exact_position(const Resampling& r, const ResampledAxis& a, Dim o) {
  using C = Resampling::Coordinate;
  if (a.scale) return std::nullopt;
  switch (r.coordinate) {
    case C::Asymmetric: return Fraction{o * a.den, a.num};
    case C::HalfPixel: return Fraction{(o * 2 + 1) * a.den - a.num, a.num * 2};
    case C::PytorchHalfPixel: {
      // The only element of an axis stands for position 0.
      expr::Context& ctx = *o->ctx;
      const Dim many = expr::max(expr::min(a.out - 1, ctx.constant(1)), ctx.constant(0));
      return Fraction{((o * 2 + 1) * a.den - a.num) * many, a.num * 2};
    }
    case C::AlignCorners:
      if (a.out.is_const() && a.out.const_value() > 1) return Fraction{o * (a.in - 1) * a.den, a.in * a.num - a.den};
      return std::nullopt;
    case C::HalfPixelSymmetric:
    case C::TfCropAndResize: return std::nullopt;
  }
  return std::nullopt;
}

// A divisor that is zero only where the output is empty.
Dim divisor(expr::Context& ctx, Dim d) {
  return ctx.proves_less_equal(ctx.constant(1), d) ? d : expr::max(d, ctx.constant(1));
}

Dim rounded(const Resampling& r, const ResampledAxis& a, const Fraction& f, expr::Context& ctx) {
  using N = Resampling::Nearest;
  Dim den = divisor(ctx, f.den);
  switch (r.nearest) {
    case N::Floor: return expr::floordiv(f.num, den);
    case N::Ceil: return expr::ceildiv(f.num, den);
    case N::RoundPreferCeil: return expr::floordiv(f.num * 2 + den, den * 2);
    case N::RoundPreferFloor: return expr::ceildiv(f.num * 2 - den, den * 2);
    case N::CeilShrinking: {
      const Dim shrinks = expr::max(expr::min(a.den - a.num, ctx.constant(1)), ctx.constant(0));
      return expr::floordiv(f.num + shrinks * (den - 1), den);
    }
  }
  return f.num;
}

Dim rounded(const Resampling& r, const ResampledAxis& a, Scalar x) {
  using N = Resampling::Nearest;
  Scalar v;
  switch (r.nearest) {
    case N::Floor: v = unary(UnaryOp::Floor, x); break;
    case N::Ceil: v = unary(UnaryOp::Ceil, x); break;
    case N::RoundPreferCeil: v = unary(UnaryOp::Floor, x + 0.5); break;
    case N::RoundPreferFloor: v = unary(UnaryOp::Ceil, x - 0.5); break;
    case N::CeilShrinking: {
      Scalar shrinks = a.scale ? less_than(a.scale, constant_like(a.scale, 1)) : expr::less(a.num, a.den);
      v = expr::make_select(shrinks, unary(UnaryOp::Ceil, x), unary(UnaryOp::Floor, x));
      break;
    }
  }
  return expr::value(expr::make_cast(DType::I64, v));
}

Scalar cubic_kernel(Scalar distance, double a) {
  Scalar d = unary(UnaryOp::Abs, distance);
  Scalar near = ((d * (a + 2) - (a + 3)) * d) * d + 1;
  Scalar far = ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
  Scalar zero = constant_like(d, 0);
  return expr::make_select(less_than(d, constant_like(d, 1)), near,
                           expr::make_select(less_than(d, constant_like(d, 2)), far, zero));
}

}  // namespace

std::pair<int64_t, int64_t> ratio_of(double scale) {
  float wanted = static_cast<float>(scale);
  for (int64_t q = 1; q <= 4096; ++q) {
    double p = std::round(scale * static_cast<double>(q));
    if (p >= 1 && static_cast<float>(p / static_cast<double>(q)) == wanted) return {static_cast<int64_t>(p), q};
  }
  constexpr int64_t q = int64_t{1} << 20;
  return {std::max<int64_t>(1, std::llround(scale * static_cast<double>(q))), q};
}

Result<Resampling> read_resampling(DefineContext& c) {
  auto choose = [&](const std::string& name, const std::vector<std::string>& names) -> Result<size_t> {
    const std::string& value = c.attr().as_string(name);
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == value) return i;
    return c.fail("bad-attribute", "there is no " + name + " '" + value + "'");
  };
  Resampling r;
  r.mode = static_cast<Resampling::Mode>(TRY(choose("mode", {"nearest", "linear", "cubic"})));
  r.coordinate = static_cast<Resampling::Coordinate>(
      TRY(choose("coordinate", {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                                "tf_crop_and_resize"})));
  r.nearest = static_cast<Resampling::Nearest>(
      TRY(choose("nearest", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "ceil_shrinking"})));
  r.cubic_coeff = c.attr().as_float("cubic_coeff");
  r.exclude_outside = c.attr().as_bool("exclude_outside");
  r.antialias = c.attr().as_bool("antialias");
  r.extrapolation = c.attr().as_float("extrapolation");
  return r;
}

Scalar source_position(const Resampling& r, const ResampledAxis& a, Dim o) {
  using C = Resampling::Coordinate;
  Scalar x = f32(o), zero = constant_like(x, 0), inverse = a.scale ? 1.0 / a.scale : f32(a.den) / f32(a.num);
  Scalar half_pixel = a.scale ? (x + 0.5) / a.scale - 0.5 : (x + 0.5) * inverse - 0.5;
  Scalar many = expr::less(o->ctx->constant(1), a.out);
  switch (r.coordinate) {
    case C::HalfPixel: return half_pixel;
    case C::HalfPixelSymmetric: {
      // The centre stays where it is although the output's size is rounded down.
      Scalar adjustment = f32(a.out) * inverse / f32(a.in);
      return f32(a.in) * 0.5 * (1.0 - adjustment) + half_pixel;
    }
    case C::PytorchHalfPixel: return expr::make_select(many, half_pixel, zero);
    case C::AlignCorners: {
      // The last positions meet in the size that the scale gives before it is rounded down (ONNX Resize, length_resized).
      Scalar resized = a.scale ? f32(a.in) * a.scale : f32(a.in * a.num) * (1.0 / f32(a.den));
      if (!a.scale && a.in == a.den) resized = f32(a.num);
      return expr::make_select(many, x * f32(a.in - 1) / (resized - 1.0), zero);
    }
    case C::Asymmetric: return a.scale ? x / a.scale : x * inverse;
    case C::TfCropAndResize: {
      Scalar last = f32(a.in - 1), spread = a.crop_end - a.crop_start;
      return expr::make_select(many, a.crop_start * last + x * spread * last / f32(a.out - 1),
                               (a.crop_start + a.crop_end) * 0.5 * last);
    }
  }
  return x;
}

Dim nearest_source(const Resampling& r, const ResampledAxis& a, Dim o) {
  using C = Resampling::Coordinate;
  using N = Resampling::Nearest;
  expr::Context& ctx = *o->ctx;
  bool whole = !a.scale && a.num.is_const() && a.den.is_const(1);
  bool rounds = r.nearest == N::RoundPreferFloor || r.nearest == N::RoundPreferCeil;
  // Enlarging by a whole factor: blocks of equal elements.
  if (whole && ((r.coordinate == C::Asymmetric && (r.nearest == N::Floor || r.nearest == N::CeilShrinking)) ||
                (r.coordinate == C::HalfPixel && rounds)))
    return expr::floordiv(o, a.num);
  std::optional<Fraction> exact = exact_position(r, a, o);
  Dim at = exact ? rounded(r, a, *exact, ctx) : rounded(r, a, source_position(r, a, o));
  if (!ctx.proves_less_equal(ctx.constant(0), at)) at = expr::max(at, ctx.constant(0));
  if (!ctx.proves_less(at, a.in)) at = expr::min(at, a.in - 1);
  return at;
}

Taps taps_of(const Resampling& r, const ResampledAxis& a) {
  expr::Context& ctx = *a.in->ctx;
  int64_t support = r.mode == Resampling::Mode::Linear ? 1 : 2;
  Dim first = ctx.constant(1 - support);
  // When shrinking with antialiasing the kernel is as wide as what one output covers.
  if (r.antialias) first = expr::min(first, expr::floordiv(a.den * -support, divisor(ctx, a.num)) + 1);
  return {first * -2 + 2, first};
}

Scalar tap_weight(const Resampling& r, const ResampledAxis& a, Scalar offset, Scalar fraction) {
  Scalar distance = offset - fraction;
  if (r.antialias) distance = distance * minimum(a.scale ? a.scale : f32(a.num) / f32(a.den), constant_like(distance, 1));
  if (r.mode == Resampling::Mode::Cubic) return cubic_kernel(distance, r.cubic_coeff);
  return maximum(1.0 - unary(UnaryOp::Abs, distance), constant_like(distance, 0));
}

}  // namespace pliant::ops
