// The largest element over the spatial axes.
#include "ops/bodies/reduction.h"
#include "ops/bodies/window/pool.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  ReducedAxes axes = TRY(reduced_axes(c, x->shape, TRY(spatial_axes(c))));
  return std::vector{reduce_kept(c, "y", axes, te::Combiner::Max, [&](const Index& i) { return (*x)(i); })};
}

}  // namespace

OpDef op_nn_global_max_pool() {
  return {.name = "nn.global_max_pool",
          .doc = "The largest element over the spatial axes.",
          .attrs = {layout_attr()},
          .compute = compute,
          .samples = {"f32[B,3,H,W] B=2 H=4 W=5", "f32[B,H,W,3] B=1 H=2 W=3 layout=NHWC", "f16[B,2,L] B=2 L=6"}};
}

}  // namespace pliant::ops
