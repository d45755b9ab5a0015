// Elements added around a tensor, or taken off where a pad is negative.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

// The input position for position `at` (which may lie outside [0, size)) under a mode that repeats elements.
Dim inside(expr::Context& ctx, Dim at, Dim size, const std::string& mode) {
  Dim zero = ctx.constant(0);
  if (mode == "edge") return expr::max(expr::min(at, size - 1), zero);
  if (mode == "wrap") return expr::mod(at, expr::max(size, ctx.constant(1)));
  // A walk to and fro without repeating the ends has period 2 * (size - 1).
  Dim period = expr::max((size - 1) * 2, ctx.constant(1));
  Dim m = expr::mod(at, period);
  return expr::min(m, expr::max((size - 1) * 2, zero) - m);
}

// The same where `at` is at most one size away from [0, size): without a division.
Dim inside_once(expr::Context& ctx, Dim at, Dim size, const std::string& mode) {
  if (mode == "edge") return inside(ctx, at, size, mode);
  Dim m = expr::max(at, -at);
  return expr::max(expr::min(m, (size - 1) * 2 - m), ctx.constant(0));
}

// What is left of an axis once its negative pads took elements off, and the pads that are none of those.
struct Cropped {
  Dim begin, size, before, after;
};
Cropped crop(expr::Context& ctx, Dim size, Dim before, Dim after) {
  const Dim zero = ctx.constant(0);
  auto taken = [&](Dim pad) { return ctx.proves_less_equal(zero, pad) ? zero : expr::max(-pad, zero); };
  const Dim front = taken(before), back = taken(after);
  return {front, size - front - back, before + front, after + back};
}

// Element `i` of the result by a mode that repeats elements, where `at` is its position in the input: in the middle of the
// last axis, which most elements are in, neighbours are neighbours.
Scalar by_ranges(DefineContext& c, const Index& i, const Index& at) {
  const Tensor& x = c.in(0);
  expr::Context& ctx = c.ctx();
  const std::vector<Dim>& pads = c.attr().as_dims("pads");
  const std::string& mode = c.attr().as_string("mode");
  const size_t rank = x->rank(), last = rank - 1;
  const Dim zero = ctx.constant(0), before = pads[last], after = pads[rank + last], size = x->shape[last];
  Scalar outside = (*x)(at);
  if (ctx.proves_less_equal(before, zero) && ctx.proves_less_equal(after, zero)) return outside;
  const Dim whole = expr::max(size + before + after, zero);
  const Dim begin = expr::min(expr::max(before, zero), whole), end = expr::max(begin, expr::min(before + size, whole));
  Index middle = at, once = at;
  middle[last] = i[last] - before;
  if (mode != "wrap") {
    const Cropped part = crop(ctx, size, before, after);
    once[last] = part.begin + inside_once(ctx, i[last] - part.before, part.size, mode);
    Scalar near = expr::logical_and(expr::less(part.before, part.size), expr::less(part.after, part.size));
    outside = expr::make_select(near, (*x)(once), outside);
  }
  return expr::make_select(expr::less(i[last], begin), outside,
                           expr::make_select(expr::less(i[last], end), (*x)(middle), outside));
}

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  expr::Context& ctx = c.ctx();
  const std::vector<Dim>& pads = c.attr().as_dims("pads");
  const std::string& mode = c.attr().as_string("mode");
  size_t rank = x->rank();
  if (pads.size() != 2 * rank)
    return c.fail("bad-attribute", "pads of rank " + std::to_string(rank) + " are " + std::to_string(2 * rank) + " numbers");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    return c.fail("bad-attribute", "there is no padding mode '" + mode + "'");
  if (c.has(1)) {
    TRY(c.require_same_dtype(0, 1));
    if (c.in(1)->rank() != 0) return c.fail("shape-mismatch", "the padding value must have rank 0");
  }
  std::vector<Dim> shape(rank);
  for (size_t k = 0; k < rank; ++k) {
    Dim size = x->shape[k] + pads[k] + pads[rank + k];
    if (ctx.less_equal(ctx.constant(0), size) == expr::Tri::No)
      size = ctx.constant(0);
    else if (!ctx.proves_less_equal(ctx.constant(0), size))
      size = expr::max(size, ctx.constant(0));
    shape[k] = size;
    bool grows = !ctx.proves_less_equal(pads[k], ctx.constant(0)) || !ctx.proves_less_equal(pads[rank + k], ctx.constant(0));
    if (mode != "constant" && grows)
      TRY(c.require_less_equal(expr::min(size, ctx.constant(1)), crop(ctx, x->shape[k], pads[k], pads[rank + k]).size,
                               "an empty axis cannot be padded by its elements: size wanted and had"));
  }
  return std::vector{c.te().map("y", shape, [&](const Index& i) {
    Index at(rank);
    Scalar good;
    auto require = [&](Scalar cond) { good = good ? expr::logical_and(good, cond) : cond; };
    for (size_t k = 0; k < rank; ++k) {
      at[k] = i[k] - pads[k];
      bool below = !ctx.proves_less_equal(pads[k], ctx.constant(0)),
           above = !ctx.proves_less_equal(pads[rank + k], ctx.constant(0));
      if (mode != "constant") {
        const Cropped part = crop(ctx, x->shape[k], pads[k], pads[rank + k]);
        if (below || above) at[k] = part.begin + inside(ctx, i[k] - part.before, part.size, mode);
        continue;
      }
      if (below) require(expr::less_equal(ctx.constant(0), at[k]));
      if (above) require(expr::less(at[k], x->shape[k]));
    }
    Scalar value = (*x)(at);
    if (mode != "constant" && rank > 0) return by_ranges(c, i, at);
    if (!good) return value;
    Scalar outside = c.has(1) ? (*c.in(1))({}) : expr::make_const(ctx, x->dtype, 0);
    return expr::make_select(good, value, outside);
  })};
}

}  // namespace

OpDef op_array_pad() {
  return {.name = "array.pad",
          .doc =
              "Elements added before and after each axis: a value, or the input's own by reflection, at the edge or wrapped "
              "round. Negative "
              "pads take elements off before anything is added.",
          .attrs = {required_attr("pads", AttrKind::Dims, "begins of all axes, then ends"),
                    attr("mode", "constant", "constant, reflect, edge or wrap")},
          .min_inputs = 1,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[M,N] f32[] M=2 N=3 pads=[1,0,2,1]", "f32[M] M=5 pads=[2,3] mode=reflect",
                      "f32[M,N] M=2 N=3 pads=[1,2,1,1] mode=edge", "i64[M] M=4 pads=[2,5] mode=wrap",
                      "f32[M,N] M=4 N=4 pads=[-1,2,0,-2]", "f32[M,N] M=4 N=4 pads=[-1,2,3,-2] mode=wrap",
                      "f32[M] K=-1 L=2 M=5 pads=[K,L] mode=reflect", "f32[M] K=3 M=5 pads=[K,0]"}};
}

}  // namespace pliant::ops
