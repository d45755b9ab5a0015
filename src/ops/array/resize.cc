// Resampling along axes, one stage an axis.
#include <algorithm>

#include "ops/bodies/elementwise.h"
#include "ops/bodies/window/resampling.h"

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
  if (r.coordinate == Resampling::Coordinate::TfCropAndResize) {
    if (!c.has(1) || c.in(1)->rank() != 1)
      return c.fail("shape-mismatch", "tf_crop_and_resize needs a vector that says what is cropped");
    TRY(require_domain(c, 1, kFloats));
    TRY(c.require_equal(c.in(1)->shape[0], c.dim(2 * static_cast<int64_t>(axes.size())),
                        "the ends of what is cropped and two for each resampled axis"));
  }
  std::vector<ResampledAxis> out;
  for (size_t k = 0; k < axes.size(); ++k) {
    ResampledAxis a;
    a.axis = TRY(c.axis(axes[k], x->rank()));
    for (const ResampledAxis& other : out)
      if (other.axis == a.axis) return c.fail("axis-repeated", "axis " + std::to_string(axes[k]) + " is named twice");
    a.in = x->shape[a.axis];
    if (!scales.empty()) {
      if (!(scales[k] > 0)) return c.fail("bad-attribute", "a scale must be positive");
      auto [p, q] = ratio_of(scales[k]);
      a.num = c.dim(p);
      a.den = c.dim(q);
      a.out = expr::floordiv(a.in * p, q);
      // A scale that f32 rounds maps positions in f32, as scales from data do.
      const bool is_exact =
          static_cast<double>(static_cast<float>(scales[k])) * static_cast<double>(q) == static_cast<double>(p);
      if (r.mode == Resampling::Mode::Nearest && !is_exact) a.scale = expr::make_const(c.ctx(), DType::F32, scales[k]);
    } else {
      a.num = a.out = sizes[k];
      a.den = a.in;
      if (c.has(2)) a.scale = expr::make_cast(DType::F32, (*c.in(2))({c.dim(static_cast<int64_t>(k))}));
    }
    if (r.coordinate == Resampling::Coordinate::TfCropAndResize) {
      auto at = [&](size_t i) { return expr::make_cast(DType::F32, (*c.in(1))({c.dim(static_cast<int64_t>(i))})); };
      a.crop_start = at(k);
      a.crop_end = at(k + axes.size());
    }
    out.push_back(a);
  }
  if (sizes.empty() || policy == "stretch") return out;
  if (policy != "not_larger" && policy != "not_smaller")
    return c.fail("bad-attribute", "there is no keep_aspect '" + policy + "'");
  // One scale num / den for all: the smallest (or largest) ratio of wanted and given sizes; sizes round half up.
  Dim num = out[0].out, den = expr::max(out[0].in, c.dim(1));
  for (size_t k = 1; k < out.size(); ++k) {
    Dim given = expr::max(out[k].in, c.dim(1)), excess = out[k].out * den - num * given;
    Dim replaces = expr::max(expr::min(policy == "not_larger" ? -excess : excess, c.dim(1)), c.dim(0));
    num = num + replaces * (out[k].out - num);
    den = den + replaces * (given - den);
  }
  for (ResampledAxis& a : out) {
    a.out = expr::floordiv(a.in * num * 2 + den, den * 2);
    a.num = num;
    a.den = den;
  }
  return out;
}

Tensor nearest(DefineContext& c, const Resampling& r, const ResampledAxis& a, const Tensor& x) {
  std::vector<Dim> shape = x->shape;
  shape[a.axis] = a.out;
  Tensor source =
      c.te().map("source", {a.out}, [&](const Index& i) { return expr::make_index(nearest_source(r, a, i[0])); });
  return c.te().map("nearest", std::move(shape), [&](const Index& i) {
    Index at = i;
    at[a.axis] = expr::value((*source)({i[a.axis]}));
    return (*x)(at);
  });
}

// One of the elements whose weighted sum is the output at a position.
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

// What an axis that is resampled by interpolation reads: `whole`, or `part` where `is_whole`, when given, is 0 at run time.
struct Source {
  Tensor part, whole;
  Dim is_whole;
};

Tensor interpolate(DefineContext& c, const Resampling& r, const ResampledAxis& a, const Source& source,
                   std::vector<Dim> shape) {
  DType work = source.part->dtype;
  Taps taps = taps_of(r, a);
  // Tables [tap][output position].
  Tensor places = c.te().map("places", {taps.count, a.out},
                             [&](const Index& i) { return expr::make_index(tap(r, a, i[1], taps.first + i[0]).at); });
  Tensor weights = c.te().map("tap_weights", {taps.count, a.out}, [&](const Index& i) {
    return expr::make_cast(work, tap(r, a, i[1], taps.first + i[0]).weight);
  });
  auto term = [&](const Tensor& x, const Index& i, Dim k) {
    Index at = i;
    at[a.axis] = expr::value((*places)({k, i[a.axis]}));
    return (*weights)({k, i[a.axis]}) * (*x)(at);
  };
  auto choose = [&](const std::function<Scalar(const Tensor&)>& from) {
    if (!source.is_whole) return from(source.part);
    Scalar is_whole = number(work, source.is_whole);  // of no wider type than the elements, for whole vectors of those
    return expr::make_select(same_value(is_whole, constant_like(is_whole, 1)), from(source.whole), from(source.part));
  };
  bool normalise = r.exclude_outside || r.antialias;
  Tensor total;
  if (normalise) {
    total = c.te().reduce("weights", {a.out}, {taps.count}, te::Combiner::Sum,
                          [&](const Index& o, const Index& k) { return (*weights)({k[0], o[0]}); });
  }
  if (taps.count.is_const() && taps.count.const_value() <= 4) {
    return c.te().map("interpolated", shape, [&](const Index& i) {
      Scalar sum = choose([&](const Tensor& x) {
        Scalar all = term(x, i, c.dim(0));
        for (int64_t k = 1; k < taps.count.const_value(); ++k) all = all + term(x, i, c.dim(k));
        return all;
      });
      return normalise ? sum / (*total)({i[a.axis]}) : sum;
    });
  }
  Tensor sum = c.te().reduce("taps", shape, {taps.count}, te::Combiner::Sum, [&](const Index& i, const Index& k) {
    return choose([&](const Tensor& x) { return term(x, i, k[0]); });
  });
  return c.te().map("interpolated", shape, [&](const Index& i) { return (*sum)(i) / (*total)({i[a.axis]}); });
}

// The values that integers of `to` hold: the nearest, away from zero in the middle, within the type's range.
Tensor rounded_to(DefineContext& c, DType to, const Tensor& x) {
  return c.te().map("rounded", x->shape, [&](const Index& i) {
    Scalar v = (*x)(i), zero = constant_like(v, 0);
    Scalar half = expr::make_select(less_than(v, zero), constant_like(v, -0.5), constant_like(v, 0.5));
    return expr::make_cast(v.dtype(), expr::make_cast(to, v + half));
  });
}

// Whether axes are interpolated only where the run says that their sizes change: those whose scale is the ratio of sizes.
bool may_keep_size(const ResampledAxis& a) {
  return !a.is_identity() && a.num == a.out && a.den == a.in && !a.scale && !a.crop_start;
}

// The axes one after the other. Those before the last two, batches and channels mostly, keep their sizes in most runs: then
// their stages are empty, and the next axis reads the input.
Tensor interpolate_all(DefineContext& c, const Resampling& r, const std::vector<ResampledAxis>& axes, const Tensor& x) {
  std::vector<const ResampledAxis*> order;
  for (const ResampledAxis& a : axes)
    if (!a.is_identity()) order.push_back(&a);
  // With antialiasing integers are rounded after each axis, the last axis first, as image libraries do it.
  const bool rounds = r.antialias && is_int(c.in(0)->dtype);
  if (rounds) std::reverse(order.begin(), order.end());
  Dim kept = c.dim(1);
  size_t leading = 0;
  while (!rounds && leading + 2 < order.size() && may_keep_size(*order[leading])) {
    const ResampledAxis& a = *order[leading++];
    kept = kept * equals(a.out - a.in, 0, c.ctx());
  }
  Source source{x, x, Dim()};
  std::vector<Dim> shape = x->shape;
  for (size_t k = 0; k < order.size(); ++k) {
    shape[order[k]->axis] = order[k]->out;
    std::vector<Dim> made = shape;
    if (k < leading) made[0] = made[0] * (1 - kept);
    if (k == leading && leading > 0) source.is_whole = kept;
    source.part = interpolate(c, r, *order[k], source, std::move(made));
    if (rounds) source.part = rounded_to(c, c.in(0)->dtype, source.part);
    if (k >= leading) source.is_whole = Dim();
  }
  return source.part;
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
  if (by_nearest) {
    for (const ResampledAxis& a : axes)
      if (!a.is_identity()) y = nearest(c, r, a, y);
  } else {
    y = interpolate_all(c, r, axes, y);
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
      .attrs =
          {attr("axes", std::vector<int64_t>{}, "the resampled axes; empty: all"),
           attr("scales", std::vector<double>{}, "one an axis"), attr("sizes", std::vector<Dim>{}, "one an axis"),
           attr("mode", "nearest", "nearest, linear or cubic"),
           attr("coordinate", "half_pixel",
                "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric or tf_crop_and_resize"),
           attr("nearest", "round_prefer_floor",
                "round_prefer_floor, round_prefer_ceil, floor, ceil, or ceil_shrinking: floor on axes that are not shrunk"),
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
                  "i64[H] H=4 sizes=[6] coordinate=align_corners nearest=round_prefer_ceil",
                  "i64[H,W] H=5 W=4 scales=[0.6,1.5] coordinate=asymmetric nearest=ceil_shrinking",
                  "f32[H] _ f32[1]@0.5..0.6 H=4 sizes=[2] coordinate=asymmetric nearest=ceil_shrinking"}};
}

}  // namespace pliant::ops
