// Axes cut or extended around their middle.
#include <algorithm>

#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  expr::Context& ctx = c.ctx();
  const std::vector<Dim>& wanted = c.attr().as_dims("shape");
  std::vector<int64_t> axes = c.attr().as_ints("axes");
  if (axes.empty())
    for (size_t k = 0; k < x->rank(); ++k) axes.push_back(static_cast<int64_t>(k));
  if (wanted.size() != axes.size())
    return c.fail("bad-attribute",
                  "there are " + std::to_string(wanted.size()) + " sizes for " + std::to_string(axes.size()) + " axes");
  // Positions [from, end) of an axis are those of the data from `from + shift` on.
  struct Part {
    size_t axis;
    Dim from, end, shift;
  };
  std::vector<Part> parts;
  std::vector<Dim> shape = x->shape;
  for (size_t k = 0; k < axes.size(); ++k) {
    size_t a = TRY(c.axis(axes[k], x->rank()));
    for (const Part& p : parts)
      if (p.axis == a) return c.fail("axis-repeated", "axis " + std::to_string(axes[k]) + " is named twice");
    Dim in = x->shape[a], out = wanted[k];
    TRY(c.require_less_equal(c.dim(0), out, "a size"));
    if (!ctx.proves_less_equal(c.dim(0), out)) out = expr::max(out, c.dim(0));
    // Cutting starts at floor((in - out) / 2), padding puts floor((out - in) / 2) before.
    Dim cut = expr::floordiv(expr::max(in - out, c.dim(0)), 2), before = expr::floordiv(expr::max(out - in, c.dim(0)), 2);
    shape[a] = out;
    Dim from = expr::min(before, out);
    parts.push_back({a, from, expr::max(from, expr::min(from + in, out)), cut - before});
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.axis < b.axis; });
  return std::vector{c.te().map("y", shape, [&](const Index& i) {
    Index at = i;
    for (const Part& p : parts) at[p.axis] = i[p.axis] + p.shift;
    // A choice along each axis, the innermost first, so that what is copied is contiguous from there on.
    Scalar v = (*x)(at), zero = expr::make_const(ctx, x->dtype, 0);
    for (const Part& p : parts) {
      if (!ctx.proves_less_equal(shape[p.axis], p.end)) v = expr::make_select(expr::less(i[p.axis], p.end), v, zero);
      if (!p.from.is_const(0)) v = expr::make_select(expr::less(i[p.axis], p.from), zero, v);
    }
    return v;
  })};
}

}  // namespace

OpDef op_array_center_crop_pad() {
  return {.name = "array.center_crop_pad",
          .doc = "Each listed axis cut, or extended with zeros, around its middle to the wanted size.",
          .attrs = {required_attr("shape", AttrKind::Dims, "one size an axis"),
                    attr("axes", std::vector<int64_t>{}, "the axes; empty: all")},
          .compute = compute,
          .samples = {"f32[M,N] M=5 N=4 shape=[3,7]", "f32[M,N,3] M=6 N=5 K=4 shape=[K,K] axes=[-3,1]"}};
}

}  // namespace pliant::ops
