// The p-norm over the spatial axes.
#include "ops/bodies/reduction.h"
#include "ops/bodies/window/pool.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  ReducedAxes axes = TRY(reduced_axes(c, x->shape, TRY(spatial_axes(c))));
  DType work = wide(x->dtype);
  double power = static_cast<double>(c.attr().as_int("p"));
  Tensor sum = reduce_kept(c, "sum", axes, te::Combiner::Sum, [&](const Index& i) {
    Scalar v = unary(UnaryOp::Abs, expr::make_cast(work, (*x)(i)));
    return make_binary(BinaryOp::Pow, v, constant_like(v, power));
  });
  return std::vector{c.te().map("y", axes.kept, [&](const Index& i) {
    Scalar s = (*sum)(i);
    return expr::make_cast(x->dtype, make_binary(BinaryOp::Pow, s, constant_like(s, 1.0 / power)));
  })};
}

}  // namespace

OpDef op_nn_global_lp_pool() {
  return {.name = "nn.global_lp_pool",
          .doc = "The p-norm over the spatial axes.",
          .attrs = {layout_attr(), attr("p", 2, "the power")},
          .compute = compute,
          .samples = {"f32[B,3,H,W] B=2 H=4 W=5", "f32[B,2,L] B=2 L=3 p=1"}};
}

}  // namespace pliant::ops
