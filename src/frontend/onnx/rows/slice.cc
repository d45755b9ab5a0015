// Slice. Its bounds were attributes before opset 10. With axes and steps known it is array.slice, whose bounds may be sizes;
// with axes or steps known only at run time it is array.strided, each axis by its first position, step and count.
#include "frontend/onnx/fold.h"
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

// Exporters write a large number where they mean the end of the axis. Taken as that, the size stays plain; that no axis is
// longer is checked at run time.
constexpr int64_t kBeyondAxes = 1'000'000'000;
Dim plain_bound(Conversion& c, Dim bound, Dim n) {
  if (!bound.is_const() || n.is_const()) return bound;
  int64_t v = bound.const_value();
  if (v > -kBeyondAxes && v < kBeyondAxes) return bound;
  if (v != INT64_MAX && v != INT64_MIN)
    c.require_less_equal(n, c.num(kBeyondAxes), "an axis of size {a} is longer than the slice allows, {b}");
  return c.num(v > 0 ? INT64_MAX : INT64_MIN);
}

// A slice whose axes and steps are known.
Result<Values> slice_with(Conversion& c, std::vector<Dim> starts, std::vector<Dim> ends, std::vector<int64_t> axes,
                          std::vector<int64_t> steps) {
  if (ends.size() != starts.size() || axes.size() != starts.size()) {
    return c.fail("wrong-count", "it has " + std::to_string(starts.size()) + " starts, " + std::to_string(ends.size()) +
                                     " ends and " + std::to_string(axes.size()) + " axes");
  }
  if (starts.empty()) return Values{c.in(0)};
  axes = TRY(c.axes(std::move(axes), c.rank(0)));
  for (size_t i = 0; i < starts.size(); ++i) {
    Dim n = c.shape(0)[static_cast<size_t>(axes[i])];
    starts[i] = plain_bound(c, starts[i], n);
    ends[i] = plain_bound(c, ends[i], n);
  }
  Attrs attrs{{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}};
  return Values{TRY(c.append("array.slice", std::move(attrs), {c.in(0)}))};
}

std::vector<Dim> as_dims(Conversion& c, const std::vector<int64_t>& values) {
  std::vector<Dim> out;
  for (int64_t v : values) out.push_back(c.num(v));
  return out;
}

Result<Values> slice_by_attributes(Conversion& c) {
  std::vector<int64_t> starts = c.ints_attr("starts", {}), ends = c.ints_attr("ends", {}), axes = c.ints_attr("axes", {});
  for (size_t i = axes.size(); i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return slice_with(c, as_dims(c, starts), as_dims(c, ends), std::move(axes), std::vector<int64_t>(starts.size(), 1));
}

// One value for each axis of the input, as a tensor [rank]: `values` at `axes`, `fallback` elsewhere.
Result<std::vector<Dim>> per_axis(Conversion& c, ValueId values, ValueId axes, int64_t fallback, const std::string& what) {
  ValueId base =
      TRY(c.append("array.full", Attrs{{"shape", std::vector<Dim>{c.num(c.rank(0))}}}, {c.scalar(DType::I64, 0)}));
  if (fallback != 0) {
    ValueId bound = c.constant(graph::make_constant(DType::I64, {}, &fallback, sizeof(fallback)));
    base = TRY(c.append("array.full", Attrs{{"shape", std::vector<Dim>{c.num(c.rank(0))}}}, {bound}));
  }
  ValueId wide = TRY(c.cast(values, DType::I64));
  ValueId all = TRY(c.append("array.scatter_elements", Attrs{{"axis", int64_t{0}}}, {base, axes, wide}));
  return c.read_dims(all, what);
}

// No axis is named twice: of two bounds one would be lost.
Status require_different(Conversion& c, ValueId axes) {
  if (c.shape_of(axes)[0].is_const(1)) return ok();
  const std::vector<Dim> rank{c.num(c.rank(0))};
  ValueId zeros = TRY(c.append("array.full", Attrs{{"shape", rank}}, {c.scalar(DType::I64, 0)}));
  ValueId ones = TRY(c.append("array.full", Attrs{{"shape", c.shape_of(axes)}}, {c.scalar(DType::I64, 1)}));
  Attrs attrs{{"axis", int64_t{0}}, {"reduction", "add"}};
  ValueId named = TRY(c.append("array.scatter_elements", std::move(attrs), {zeros, axes, ones}));
  std::vector<Dim> counts = TRY(c.read_dims(named, "the axes"));
  for (size_t a = 0; a < counts.size(); ++a)
    c.require_less_equal(counts[a], c.num(1), "axis " + std::to_string(a) + " is named {a} times among the axes to slice");
  return ok();
}

// The first position and the number of positions that Python's rule gives for any step.
struct Positions {
  Dim first, count;
};
Positions positions_of(Conversion& c, Dim start, Dim end, Dim step, Dim n) {
  expr::Context& ctx = c.ctx();
  Dim down = is_negative(step, ctx);
  Dim lo = -down, hi = n - down;
  auto clamp = [&](Dim v) {
    // Bounds beyond the axis say no more than its ends do; cutting them first keeps the sum from overflowing.
    Dim cut = tight_min(tight_max(v, -n - 1, ctx), n, ctx);
    Dim wrapped = cut + is_negative(cut, ctx) * n;
    return tight_min(tight_max(wrapped, lo, ctx), hi, ctx);
  };
  Dim first = clamp(start), last = clamp(end);
  Dim magnitude = tight_max(tight_max(step, -step, ctx), c.num(1), ctx);
  Dim count = tight_max(expr::ceildiv((last - first) * (1 - down * 2), magnitude), c.num(0), ctx);
  return {first, count};
}

// Bounds that are known tensors of unknown length, or whose axes or steps are not constant.
Result<Values> slice_at_run_time(Conversion& c) {
  for (size_t k = 1; k < 5; ++k)
    if (c.has(k) && c.rank(k) != 1)
      return c.fail("wrong-rank",
                    "input " + std::to_string(k) + " must be a vector but has " + std::to_string(c.rank(k)) + " axes");
  ValueId axes = kNoValue;
  if (c.has(3)) {
    axes = TRY(c.cast(c.in(3), DType::I64));
    TRY(require_different(c, axes));
  } else {
    axes = TRY(c.append("array.iota", Attrs{{"shape", c.shape_of(c.in(1))}, {"axis", int64_t{0}}, {"to", DType::I64}}, {}));
  }
  ValueId ones = TRY(c.append("array.full", Attrs{{"shape", c.shape_of(c.in(1))}}, {c.scalar(DType::I64, 1)}));
  std::vector<Dim> steps = TRY(per_axis(c, c.has(4) ? c.in(4) : ones, axes, 1, "the steps"));
  // Unsliced axes keep step 1, for which these bounds take the whole axis.
  std::vector<Dim> starts = TRY(per_axis(c, c.in(1), axes, 0, "the starts"));
  std::vector<Dim> ends = TRY(per_axis(c, c.in(2), axes, INT64_MAX / 2, "the ends"));
  std::vector<Dim> firsts, sizes;
  for (size_t a = 0; a < steps.size(); ++a) {
    Dim n = c.shape(0)[a];
    steps[a] = tight_min(tight_max(steps[a], -n - 1, c.ctx()), n + 1, c.ctx());  // longer steps act alike
    c.require_less_equal(c.num(1), tight_max(steps[a], -steps[a], c.ctx()), "the steps must not be 0");
    Positions p = positions_of(c, starts[a], ends[a], steps[a], n);
    firsts.push_back(p.first);
    sizes.push_back(p.count);
  }
  return Values{TRY(c.append("array.strided", Attrs{{"starts", firsts}, {"steps", steps}, {"sizes", sizes}}, {c.in(0)}))};
}

bool has_constant(Conversion& c, size_t i) {
  if (!c.has(i)) return true;
  const Known* k = c.known(i);
  return k != nullptr && k->ints().has_value();
}

Result<Values> slice(Conversion& c) {
  bool has_fixed_count = c.count(c.shape(1)).is_const();
  if (!has_fixed_count || !has_constant(c, 3) || !has_constant(c, 4)) return slice_at_run_time(c);
  std::vector<Dim> starts = TRY(c.dims(1, "the starts")), ends = TRY(c.dims(2, "the ends"));
  std::vector<int64_t> axes, steps;
  if (c.has(3)) axes = TRY(c.const_ints(3, "the axes"));
  if (c.has(4)) steps = TRY(c.const_ints(4, "the steps"));
  for (size_t i = axes.size(); i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  steps.resize(starts.size(), 1);
  return slice_with(c, std::move(starts), std::move(ends), std::move(axes), std::move(steps));
}

}  // namespace

Rows slice_rows() {
  return {
      {"Slice", 1, 1, &slice_by_attributes, 0, &fold_slice},
      {"Slice", 10, 3, &slice, kFrom1, &fold_slice},
  };
}

}  // namespace pliant::frontend::onnx
