// Division by the p-norm along an axis.
#include "ops/bodies/reduction.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  int64_t p = c.attr().as_int("p");
  if (p != 1 && p != 2) return c.fail("bad-attribute", "the power of a norm is 1 or 2 but not " + std::to_string(p));
  DType work = wide(x->dtype);
  ReducedAxes axes = TRY(reduced_axes(c, x->shape, {c.attr().as_int("axis")}));
  auto value = [&](const Index& i) { return expr::make_cast(work, (*x)(i)); };
  Tensor sum = reduce_kept(c, "sum", axes, te::Combiner::Sum,
                           [&](const Index& i) { return p == 1 ? unary(UnaryOp::Abs, value(i)) : value(i) * value(i); });
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Scalar s = (*sum)(kept_index(axes, i, c.ctx())), norm = p == 1 ? s : unary(UnaryOp::Sqrt, s),
           zero = constant_like(norm, 0);
    return expr::make_cast(x->dtype, expr::make_select(same_value(norm, zero), zero, value(i) / norm));
  })};
}

}  // namespace

OpDef op_nn_lp_norm() {
  return {.name = "nn.lp_norm",
          .doc = "x divided by its p-norm along `axis`; 0 where the norm is 0.",
          .attrs = {attr("axis", -1, "the axis of the norm"), attr("p", 2, "1 or 2")},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=4", "f32[M,N] M=3 N=4 axis=0 p=1", "f16[M] M=5"}};
}

}  // namespace pliant::ops
