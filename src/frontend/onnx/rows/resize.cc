// Resize and its forerunner Upsample. Axes that keep their size are left out.
#include <algorithm>

#include "frontend/onnx/fold.h"
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

struct Request {
  std::vector<int64_t> axes;
  std::vector<double> scales;  // one of scales and sizes is empty
  std::vector<Dim> sizes;
  ValueId scale_values = kNoValue;  // scales from data, beside the sizes that they give
};

// Scales that only data tell: the sizes are read once floor(size * scale) is computed. A factor that is no number gives -1.
Status take_computed_scales(Conversion& c, ValueId scales, Request& r) {
  std::vector<Dim> before;
  for (int64_t a : r.axes) before.push_back(c.shape(0)[static_cast<size_t>(a)]);
  scales = TRY(c.cast(scales, DType::F32));
  ValueId sizes = TRY(c.from_dims(before));
  sizes = TRY(c.cast(sizes, DType::F32));
  ValueId after = TRY(c.append("math.mul", {}, {sizes, scales}));
  ValueId is_nan = TRY(c.append("math.is_nan", {}, {after}));
  after = TRY(c.append("math.floor", {}, {after}));
  after = TRY(c.cast(after, DType::I64));
  after = TRY(c.append("math.where", {}, {is_nan, c.scalar(DType::I64, -1), after}));
  r.sizes = TRY(c.read_dims(after, "the resized sizes"));
  for (size_t k = 0; k < r.sizes.size(); ++k)
    c.require_less_equal(
        c.num(0), r.sizes[k],
        "the scale of axis " + std::to_string(r.axes[k]) + " is negative or no number: it makes {b} elements");
  r.scale_values = scales;
  return ok();
}

const graph::Node* node_of(Conversion& c, ValueId v) {
  const std::vector<graph::Node>& nodes = c.state().builder.current_nodes();
  auto it = std::find_if(nodes.rbegin(), nodes.rend(),
                         [&](const graph::Node& n) { return !n.outputs.empty() && n.outputs[0] == v; });
  return it == nodes.rend() ? nullptr : &*it;
}

// Which of the scales are constants of 1: elements that are known, or constants joined with what data tell.
std::vector<bool> scales_of_one(Conversion& c, size_t i, size_t count) {
  std::vector<bool> out;
  auto add = [&](const Known& k) {
    for (const Element& e : k.elements) out.push_back(e.kind == Element::Kind::Real && e.real == 1);
  };
  if (const Known* k = c.known(i)) {
    add(*k);
  } else if (const graph::Node* joined = node_of(c, c.in(i)); joined != nullptr && joined->op == "array.concat") {
    for (ValueId part : joined->inputs) {
      const Dim size = c.shape_of(part)[0];
      if (!size.is_const()) break;
      const graph::Node* made = node_of(c, part);
      std::optional<Known> k;
      if (made != nullptr && made->op == "core.const") k = known_of(*made->attrs.constant("value"), c.ctx());
      if (k)
        add(*k);
      else
        out.resize(out.size() + static_cast<size_t>(size.const_value()), false);
    }
  }
  out.resize(count, false);
  return out;
}

// Scales that are not all known: 1 leaves its axis out, and the others are taken from data.
Status take_other_scales(Conversion& c, size_t i, Request& r) {
  const std::vector<bool> is_one = scales_of_one(c, i, r.axes.size());
  ValueId scales = c.in(i);
  r.sizes.clear();
  if (std::find(is_one.begin(), is_one.end(), true) == is_one.end()) return take_computed_scales(c, scales, r);
  std::vector<int64_t> axes;
  std::vector<Dim> places;
  for (size_t j = 0; j < is_one.size(); ++j) {
    if (is_one[j]) continue;
    axes.push_back(r.axes[j]);
    places.push_back(c.num(static_cast<int64_t>(j)));
  }
  r.axes = std::move(axes);
  ValueId chosen = TRY(c.from_dims(places));
  return take_computed_scales(c, TRY(c.append("array.gather", Attrs{{"axis", int64_t{0}}}, {scales, chosen})), r);
}

// The scales of input i. Symbolic ones are ratios of sizes; the resized size is then known exactly where the divisor is the
// size of the axis.
Status take_scales(Conversion& c, size_t i, Request& r) {
  const Known* k = c.known(i);
  if (k == nullptr) return take_other_scales(c, i, r);
  if (k->elements.size() != r.axes.size()) {
    return c.fail("wrong-count",
                  std::to_string(r.axes.size()) + " scales are needed but " + std::to_string(k->elements.size()) + " given");
  }
  if (k->is_const()) {
    for (const Element& e : k->elements) r.scales.push_back(e.real);
    return ok();
  }
  for (size_t j = 0; j < k->elements.size(); ++j) {
    const Element& e = k->elements[j];
    Dim n = c.shape(0)[static_cast<size_t>(r.axes[j])];
    if (e.kind == Element::Kind::Real && e.real == 1) {
      r.sizes.push_back(n);
    } else if (e.kind == Element::Kind::Ratio && e.den == tight_max(n, c.num(1), c.ctx())) {
      r.sizes.push_back(e.num);
    } else if (e.kind == Element::Kind::Ratio && e.den == n) {
      r.sizes.push_back(e.num);
    } else {
      return take_other_scales(c, i, r);
    }
  }
  return ok();
}

Result<Values> append_resize(Conversion& c, Request r, ValueId roi, Attrs attrs) {
  bool crops = attrs.string_or("coordinate", "") == "tf_crop_and_resize";
  if (!crops && !attrs.has("keep_aspect") && r.scale_values == kNoValue) {
    Request kept;
    for (size_t j = 0; j < r.axes.size(); ++j) {
      Dim n = c.shape(0)[static_cast<size_t>(r.axes[j])];
      bool is_same = r.scales.empty() ? c.ctx().proves_equal(r.sizes[j], n) : r.scales[j] == 1.0;
      if (is_same) continue;
      kept.axes.push_back(r.axes[j]);
      if (r.scales.empty()) {
        kept.sizes.push_back(r.sizes[j]);
      } else {
        kept.scales.push_back(r.scales[j]);
      }
    }
    r = std::move(kept);
    if (r.axes.empty()) return Values{c.in(0)};
  }
  attrs.set("axes", r.axes);
  if (r.scales.empty()) {
    attrs.set("sizes", r.sizes);
  } else {
    attrs.set("scales", r.scales);
  }
  return Values{TRY(c.append("array.resize", std::move(attrs), {c.in(0), crops ? roi : kNoValue, r.scale_values}))};
}

std::vector<int64_t> every_axis(Conversion& c) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < c.rank(0); ++i) out.push_back(i);
  return out;
}

// Upsample and Resize-10 map positions by scale alone and take the floor; where it shrinks an axis, Resize-10 the ceiling.
Result<Values> by_scales(Conversion& c, const std::string& nearest) {
  Request r;
  r.axes = every_axis(c);
  if (c.has_attr("scales")) {
    r.scales = c.floats_attr("scales", {});
    if (r.scales.size() != r.axes.size()) return c.fail("wrong-count", "one scale an axis is needed");
  } else {
    if (!c.has(1)) return c.fail("missing-input", "the scales are missing");
    TRY(take_scales(c, 1, r));
  }
  std::string mode = c.string_attr("mode", "nearest");
  Attrs attrs{{"mode", mode == "bilinear" ? std::string("linear") : mode},
              {"coordinate", std::string("asymmetric")},
              {"nearest", nearest}};
  return append_resize(c, std::move(r), kNoValue, std::move(attrs));
}

Result<Values> upsample(Conversion& c) { return by_scales(c, "floor"); }
Result<Values> resize_10(Conversion& c) { return by_scales(c, "ceil_shrinking"); }

Result<Values> resize(Conversion& c) {
  Request r;
  r.axes = c.has_attr("axes") ? TRY(c.axes(c.ints_attr("axes", {}), c.rank(0))) : every_axis(c);
  Attrs attrs{{"mode", c.string_attr("mode", "nearest")},
              {"coordinate", c.string_attr("coordinate_transformation_mode", "half_pixel")},
              {"nearest", c.string_attr("nearest_mode", "round_prefer_floor")},
              {"cubic_coeff", c.float_attr("cubic_coeff_a", -0.75)},
              {"exclude_outside", c.bool_attr("exclude_outside", false)},
              {"antialias", c.bool_attr("antialias", false)},
              {"extrapolation", c.float_attr("extrapolation_value", 0)}};
  // An empty tensor stands for an absent input in older models.
  bool has_sizes = c.has(3) && !c.count(c.shape(3)).is_const(0);
  bool has_scales = c.has(2) && !c.count(c.shape(2)).is_const(0);
  if (has_sizes == has_scales) return c.fail("missing-input", "exactly one of scales and sizes is needed");
  if (has_sizes) {
    std::string policy = c.string_attr("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") attrs.set("keep_aspect", policy);
    r.sizes = TRY(c.dims(3, "the sizes", {.expected = static_cast<int64_t>(r.axes.size())}));
    if (r.sizes.size() != r.axes.size()) return c.fail("wrong-count", "one size an axis is needed");
    for (Dim size : r.sizes) {
      if (size.is_const() && size.const_value() < 0)
        return c.fail("negative-size", "size " + std::to_string(size.const_value()) + " of the result is negative");
      c.require_less_equal(c.num(0), size, "size {b} of the result is negative");
    }
  } else {
    TRY(take_scales(c, 2, r));
  }
  ValueId roi = c.has(1) && !c.count(c.shape(1)).is_const(0) ? c.in(1) : kNoValue;
  return append_resize(c, std::move(r), roi, std::move(attrs));
}

}  // namespace

Rows resize_rows() {
  return {
      {"Upsample", 7, 1, &upsample, kFrom1},
      {"Resize", 10, 2, &resize_10, kFrom1},
      {"Resize", 11, 1, &resize, shape_input(2) | shape_input(3)},
  };
}

}  // namespace pliant::frontend::onnx
