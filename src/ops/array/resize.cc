// Resampling along axes, one stage an axis.
#include "ops/elementwise.h"
#include "ops/resampling.h"

namespace pliant::ops {
namespace {

Result<std::vector<ResampledAxis>> read_axes(DefineContext& c, const Resampling& r) {
  const Tensor& x = c.in(0);
  const std::vector<double>& scales = c.attr().as_floats("scales");
  const std::vector<Dim>& sizes = c.attr().as_dims("sizes");
  const std::string& policy = c.attr().as_string("keep_aspect");
  std::vector<int64_t> axes = c.attr().as_ints("axes");
  if (axes.empty())
    for (size_t k = 0; k < x->rank(); ++k) axes.push_back(static_cast<int64_t>(k));
  if (scales.empty() == sizes.empty()) return c.fail("bad-attribute", "a resize has either scales or sizes");
  if (std::max(scales.size(), sizes.size()) != axes.size())
    return c.fail("bad-attribute", "a resize needs one scale or size for each of its axes");
  if (c.has(2)) {
    TRY(require_domain(c, 2, kFloats));
    if (sizes.empty() || c.in(2)->rank() != 1)
      return c.fail("bad-attribute", "scales from data come as a vector beside the sizes");
    TRY(c.require_equal(c.in(2)->shape[0], c.dim(static_cast<int64_t>(axes.size())), "the scales and the resampled axes"));
  }
  std::vector<ResampledAxis> out;
  for (size_t k = 0; k < axes.size(); ++k) {
    ResampledAxis a;
    a.axis = TRY(c.axis(axes[k], x->rank()));
    a.in = x->shape[a.axis];
    if (!scales.empty()) {
      if (!(scales[k] > 0)) return c.fail("bad-attribute", "a scale must be positive");
      auto [p, q] = ratio_of(scales[k]);
      a.num = c.dim(p);
      a.den = c.dim(q);
      a.out = expr::floordiv(a.in * p, q);
    } else {
      a.num = a.out = sizes[k];
      a.den = a.in;
      if (c.has(2)) a.scale = expr::make_cast(DType::F32, (*c.in(2))({c.dim(static_cast<int64_t>(k))}));
    }
    if (r.coordinate == Resampling::Coordinate::TfCropAndResize && c.has(1)) {
      auto at = [&](size_t i) { return expr::make_cast(DType::F32, (*c.in(1))({c.dim(static_cast<int64_t>(i))})); };
      a.crop_start = at(k);
      a.crop_end = at(k + axes.size());
    }
    out.push_back(a);
  }
  if (sizes.empty() || policy == "stretch") return out;
  if (policy != "not_larger" && policy != "not_smaller")
    return c.fail("bad-attribute", "there is no keep_aspect '" + policy + "'");
  // One scale for all: the smallest (or largest) ratio of wanted and given sizes; sizes round half up.
  std::vector<ResampledAxis> kept = out;
  for (size_t i = 0; i < out.size(); ++i) {
    Dim size;
    for (const ResampledAxis& k : out) {
      Dim given = expr::max(k.in, c.dim(1)), candidate = expr::floordiv(out[i].in * k.out * 2 + given, given * 2);
      size = !size ? candidate : policy == "not_larger" ? expr::min(size, candidate) : expr::max(size, candidate);
    }
    kept[i].out = kept[i].num = size;
  }
  return kept;
}

Tensor nearest(DefineContext& c, const Resampling& r, const ResampledAxis& a, const Tensor& x) {
  std::vector<Dim> shape = x->shape;
  shape[a.axis] = a.out;
  return c.te().map("nearest", std::move(shape), [&](const Index& i) {
    Index at = i;
    at[a.axis] = nearest_source(r, a, i[a.axis]);
    return (*x)(at);
  });
}

// The weighted sum of the taps at output position `o`; `value` reads the input at a position of the axis.
struct Tap {
  Scalar weight;
  Dim at;  // within [0, in)
};
Tap tap(const Resampling& r, const ResampledAxis& a, Dim o, Dim offset) {
  expr::Context& ctx = *o->ctx;
  Scalar x = source_position(r, a, o), whole = unary(UnaryOp::Floor, x);
  Dim at = expr::value(expr::make_cast(DType::I64, whole)) + offset;
  Scalar weight = tap_weight(r, a, number(DType::F32, offset), x - whole);
  if (r.exclude_outside) {
    Scalar inside = expr::logical_and(expr::less_equal(ctx.constant(0), at), expr::less(at, a.in));
    weight = expr::make_select(inside, weight, constant_like(weight, 0));
  }
  return {weight, expr::max(expr::min(at, a.in - 1), ctx.constant(0))};
}

Tensor interpolate(DefineContext& c, const Resampling& r, const ResampledAxis& a, const Tensor& x) {
  std::vector<Dim> shape = x->shape;
  shape[a.axis] = a.out;
  DType work = x->dtype;
  Taps taps = taps_of(r, a);
  auto term = [&](const Index& i, Dim offset) {
    Tap t = tap(r, a, i[a.axis], offset);
    Index at = i;
    at[a.axis] = t.at;
    return expr::make_cast(work, t.weight) * (*x)(at);
  };
  bool normalise = r.exclude_outside || r.antialias;
  Tensor total;
  if (normalise) {
    total = c.te().reduce("weights", {a.out}, {taps.count}, te::Combiner::Sum, [&](const Index& o, const Index& k) {
      return expr::make_cast(work, tap(r, a, o[0], taps.first + k[0]).weight);
    });
  }
  if (taps.count.is_const() && taps.count.const_value() <= 4) {
    return c.te().map("interpolated", shape, [&](const Index& i) {
      Scalar sum = term(i, taps.first);
      for (int64_t k = 1; k < taps.count.const_value(); ++k) sum = sum + term(i, taps.first + k);
      return normalise ? sum / (*total)({i[a.axis]}) : sum;
    });
  }
  Tensor sum = c.te().reduce("taps", shape, {taps.count}, te::Combiner::Sum,
                             [&](const Index& i, const Index& k) { return term(i, taps.first + k[0]); });
  return c.te().map("interpolated", shape, [&](const Index& i) { return (*sum)(i) / (*total)({i[a.axis]}); });
}

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  Resampling r = TRY(read_resampling(c));
  std::vector<ResampledAxis> axes = TRY(read_axes(c, r));
  bool by_nearest = r.mode == Resampling::Mode::Nearest;
  if (!by_nearest) TRY(require_domain(c, 0, kNumbers));
  for (const ResampledAxis& a : axes)
    if (!a.is_identity())
      TRY(c.require_less_equal(expr::min(a.out, c.dim(1)), a.in, "an empty axis cannot be enlarged: size wanted and had"));
  DType work = by_nearest ? x->dtype : x->dtype == DType::F64 ? DType::F64 : DType::F32;
  Tensor y = x;
  if (work != x->dtype) y = c.te().map("wide", x->shape, [&](const Index& i) { return expr::make_cast(work, (*x)(i)); });
  for (const ResampledAxis& a : axes) {
    if (a.is_identity()) continue;
    y = by_nearest ? nearest(c, r, a, y) : interpolate(c, r, a, y);
  }
  bool crops = r.coordinate == Resampling::Coordinate::TfCropAndResize;
  if (!crops && work == x->dtype && y != x) return std::vector{y};
  return std::vector{c.te().map("y", y->shape, [&](const Index& i) {
    Scalar v = expr::make_cast(x->dtype, (*y)(i)), inside;
    for (const ResampledAxis& a : axes) {
      if (!a.crop_start) continue;
      Scalar p = source_position(r, a, i[a.axis]);
      Scalar good = expr::logical_and(greater_equal(p, constant_like(p, 0)),
                                      make_binary(BinaryOp::Le, p, number(DType::F32, a.in - 1)));
      inside = inside ? expr::logical_and(inside, good) : good;
    }
    return inside ? expr::make_select(inside, v, constant_like(v, r.extrapolation)) : v;
  })};
}

}  // namespace

OpDef op_array_resize() {
  return {
      .name = "array.resize",
      .doc =
          "Resampling along `axes` to given sizes or by given scales, by the nearest element or by linear or cubic "
          "interpolation.",
      .attrs = {attr("axes", std::vector<int64_t>{}, "the resampled axes; empty: all"),
                attr("scales", std::vector<double>{}, "one an axis"), attr("sizes", std::vector<Dim>{}, "one an axis"),
                attr("mode", "nearest", "nearest, linear or cubic"),
                attr(
                    "coordinate", "half_pixel",
                    "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric or tf_crop_and_resize"),
                attr("nearest", "round_prefer_floor", "round_prefer_floor, round_prefer_ceil, floor or ceil"),
                attr("cubic_coeff", -0.75), attr("exclude_outside", false, "taps outside the input have no weight"),
                attr("antialias", false, "wider kernels when shrinking"),
                attr("extrapolation", 0.0, "the value outside the input for tf_crop_and_resize"),
                attr("keep_aspect", "stretch", "stretch, not_larger or not_smaller: one scale for all axes")},
      .min_inputs = 1,
      .max_inputs = 3,
      .compute = compute,
      .samples = {"f32[B,C,H,W] B=1 C=2 H=3 W=4 axes=[2,3] scales=[2,2] coordinate=asymmetric nearest=floor",
                  "f32[B,C,H,W] B=1 C=2 H=3 W=4 scales=[1,1,2,3]",
                  "f32[B,C,H,W] B=1 C=1 H=4 W=3 axes=[2,3] sizes=[7,H] mode=linear",
                  "f32[H,W] H=4 W=5 scales=[0.6,1.5] mode=linear coordinate=align_corners",
                  "f32[H,W] H=4 W=4 scales=[0.8,2] mode=cubic exclude_outside=true",
                  "f32[H,W] H=6 W=6 scales=[0.5,0.6] mode=linear antialias=true",
                  "f32[H,W] H=6 W=6 sizes=[3,4] mode=cubic antialias=true",
                  "f32[H,W] f32[4]@0..1 H=5 W=5 sizes=[3,3] mode=linear coordinate=tf_crop_and_resize extrapolation=10.0",
                  "f32[H,W] H=3 W=5 sizes=[7,8] keep_aspect=not_larger",
                  "f32[H,W] H=3 W=5 sizes=[7,8] keep_aspect=not_smaller nearest=ceil", "u8[H] H=4 scales=[2.5] mode=linear",
                  "f16[H] H=5 scales=[0.7] coordinate=half_pixel_symmetric mode=linear",
                  "f32[H] H=4 sizes=[8] coordinate=pytorch_half_pixel mode=cubic",
                  "f32[H] _ f32[1]@1.9..2 H=4 sizes=[7] mode=linear",
                  "f32[H] _ f32[1]@1.9..2 H=4 sizes=[7] mode=cubic antialias=true",
                  "i64[H] H=4 sizes=[6] coordinate=align_corners nearest=round_prefer_ceil"}};
}

}  // namespace pliant::ops
