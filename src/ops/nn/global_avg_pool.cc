// The mean over the spatial axes.
#include "ops/bodies/reduction.h"
#include "ops/bodies/window/pool.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  ReducedAxes axes = TRY(reduced_axes(c, x->shape, TRY(spatial_axes(c))));
  DType work = wide(x->dtype);
  Tensor sum =
      reduce_kept(c, "sum", axes, te::Combiner::Sum, [&](const Index& i) { return expr::make_cast(work, (*x)(i)); });
  return std::vector{c.te().map(
      "y", axes.kept, [&](const Index& i) { return expr::make_cast(x->dtype, (*sum)(i) / number(work, axes.count)); })};
}

}  // namespace

OpDef op_nn_global_avg_pool() {
  return {.name = "nn.global_avg_pool",
          .doc = "The mean over the spatial axes.",
          .attrs = {layout_attr()},
          .compute = compute,
          .samples = {"f32[B,3,H,W] B=2 H=4 W=5", "f32[B,H,W,3] B=1 H=2 W=3 layout=NHWC", "f16[B,2,L] B=2 L=6"}};
}

}  // namespace pliant::ops
