// Normalisation of each channel of each batch over the spatial axes.
#include "ops/bodies/normalise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  if (x->rank() < 3) return c.fail("shape-mismatch", "instance normalisation needs batch, channels and a spatial axis");
  DType work = wide(x->dtype);
  for (size_t k : {size_t{1}, size_t{2}}) {
    TRY(c.require_same_dtype(0, k));
    if (c.in(k)->rank() != 1) return c.fail("shape-mismatch", "scale and bias must have rank 1");
    TRY(c.require_equal(c.in(k)->shape[0], x->shape[1], "scale or bias and the channels"));
  }
  ReducedAxes axes = TRY(reduced_axes(c, x->shape, TRY(trailing_axes(c, 2, x->rank()))));
  auto value = [&](const Index& i) { return expr::make_cast(work, (*x)(i)); };
  Statistics s = statistics(c, axes, c.attr().as_float("epsilon"), value);
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Index kept = kept_index(axes, i, c.ctx());
    Scalar scale = expr::make_cast(work, (*c.in(1))({i[1]})), bias = expr::make_cast(work, (*c.in(2))({i[1]}));
    return expr::make_cast(x->dtype, (value(i) - (*s.mean)(kept)) * (*s.inverse_deviation)(kept)*scale + bias);
  })};
}

}  // namespace

OpDef op_nn_instance_norm() {
  return {.name = "nn.instance_norm",
          .doc = "Each channel scaled to mean 0 and variance 1 over the spatial axes, then scaled and shifted.",
          .attrs = {attr("epsilon", 1e-5, "added to the variance")},
          .min_inputs = 3,
          .max_inputs = 3,
          .compute = compute,
          .samples = {"f32[B,C,H,W] f32[C] f32[C] B=2 C=3 H=4 W=2", "f16[B,C,L] f16[C] f16[C] B=1 C=2 L=6"}};
}

}  // namespace pliant::ops
