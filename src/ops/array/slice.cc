// Slices with Python's rules: negative bounds count from the end, then bounds are clamped into the axis.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

constexpr int64_t kFar = int64_t{1} << 62;
// Longer than the axis of any tensor that has elements, and far from where products with sizes overflow.
constexpr int64_t kLongestStep = int64_t{1} << 40;

Dim at_least(expr::Context& ctx, Dim d, Dim low) { return ctx.proves_less_equal(low, d) ? d : expr::max(d, low); }
Dim at_most(expr::Context& ctx, Dim d, Dim high) { return ctx.proves_less_equal(d, high) ? d : expr::min(d, high); }

// A bound counted from the start, still to be clamped to [low, high] with low <= 0.
Dim from_start(expr::Context& ctx, Dim bound, Dim size, Dim low, Dim high) {
  if (bound.is_const()) {
    int64_t v = bound.const_value();
    if (v >= kFar) return high;
    if (v <= -kFar) return low;
    return v < 0 ? size + v : bound;
  }
  if (ctx.proves_less_equal(ctx.constant(0), bound)) return bound;
  if (ctx.proves_less(bound, ctx.constant(0))) return bound + size;
  // size - 1, and size - 2 where 0 is the lowest: where it is negative, counting from the end stays at or below the lowest,
  // which clamping gives as well.
  Dim distance = size - bound;
  if (distance.is_const() && distance.const_value() >= 0 && distance.const_value() <= (low.is_const(0) ? 2 : 1))
    return bound;
  // bound + size where bound < 0: max(min(bound, 0), -1) is -1 there and 0 elsewhere.
  return bound - size * expr::max(expr::min(bound, ctx.constant(0)), ctx.constant(-1));
}

struct Part {
  Dim start, size;
  int64_t step = 1;
};

Part part_of(expr::Context& ctx, Dim start, Dim end, Dim size, int64_t step) {
  Dim zero = ctx.constant(0), minus_one = ctx.constant(-1), last = size - 1;
  if (step > 0) {
    Dim s = at_most(ctx, at_least(ctx, from_start(ctx, start, size, zero, size), zero), size);
    Dim e = at_most(ctx, at_least(ctx, from_start(ctx, end, size, zero, size), zero), size);
    return {s, expr::ceildiv(at_least(ctx, e - s, zero), step), step};
  }
  Dim s = at_most(ctx, at_least(ctx, from_start(ctx, start, size, minus_one, last), minus_one), last);
  Dim e = at_most(ctx, at_least(ctx, from_start(ctx, end, size, minus_one, last), minus_one), last);
  return {s, expr::ceildiv(at_least(ctx, s - e, zero), -step), step};
}

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  AttrReader a = c.attr();
  const std::vector<Dim>&starts = a.as_dims("starts"), &ends = a.as_dims("ends");
  const std::vector<int64_t>&axes = a.as_ints("axes"), &steps = a.as_ints("steps");
  if (starts.size() != axes.size() || ends.size() != axes.size() || (!steps.empty() && steps.size() != axes.size()))
    return c.fail("bad-attribute", "starts, ends, axes and steps of a slice have different lengths");
  std::vector<Part> parts;
  std::vector<Dim> shape = x->shape;
  for (Dim d : x->shape) parts.push_back({c.dim(0), d, 1});
  std::vector<bool> used(x->rank(), false);
  for (size_t k = 0; k < axes.size(); ++k) {
    size_t axis = TRY(c.axis(axes[k], x->rank()));
    int64_t step = steps.empty() ? 1 : steps[k];
    if (step == 0) return c.fail("bad-attribute", "the step of a slice is 0");
    if (used[axis]) return c.fail("bad-attribute", "a slice names axis " + std::to_string(axis) + " twice");
    used[axis] = true;
    // Steps beyond the axis act alike; a bounded step keeps products of indices small.
    step = std::max(-kLongestStep, std::min(kLongestStep, step));
    parts[axis] = part_of(c.ctx(), starts[k], ends[k], x->shape[axis], step);
    shape[axis] = parts[axis].size;
  }
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    Index at(i.size());
    for (size_t k = 0; k < i.size(); ++k) at[k] = parts[k].start + i[k] * parts[k].step;
    return (*x)(at);
  })};
}

}  // namespace

OpDef op_array_slice() {
  return {.name = "array.slice",
          .doc =
              "Every step-th element from `starts` to before `ends` along `axes`, with Python's rules for negative and far "
              "bounds.",
          .attrs = {required_attr("starts", AttrKind::Dims, "first positions"),
                    required_attr("ends", AttrKind::Dims, "positions to stop before"),
                    required_attr("axes", AttrKind::Ints, "the sliced axes"),
                    attr("steps", std::vector<int64_t>{}, "strides, not zero; empty: all 1")},
          .compute = compute,
          .samples = {"f32[M,N] M=5 N=6 starts=[1,-3] ends=[9223372036854775807,-1] axes=[0,1]",
                      "f32[M] M=7 starts=[-1] ends=[-9223372036854775807] axes=[0] steps=[-2]",
                      "i64[M,4] M=5 starts=[0] ends=[M-1] axes=[0]", "f32[M] M=6 starts=[1] ends=[20] axes=[-1] steps=[3]",
                      "f32[M,N] M=4 N=3 starts=[N-M] ends=[M] axes=[0]", "f32[4] starts=[3] ends=[1] axes=[0]",
                      "f32[M] M=5 starts=[-9] ends=[-9223372036854775807] axes=[0] steps=[-1]",
                      "f32[M] M=5 starts=[-1] ends=[M-2] axes=[0] steps=[-1]"}};
}

}  // namespace pliant::ops
