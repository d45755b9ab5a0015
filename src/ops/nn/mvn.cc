// Mean-variance normalisation: (x - mean) / (sqrt(mean of squares - squared mean) + 1e-9).
#include "ops/bodies/normalise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  DType work = wide(x->dtype);
  ReducedAxes axes = TRY(reduced_axes(c, x->shape, c.attr().as_ints("axes")));
  auto value = [&](const Index& i) { return expr::make_cast(work, (*x)(i)); };
  Statistics s = statistics(c, axes, 0, value);
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Index kept = kept_index(axes, i, c.ctx());
    return expr::make_cast(x->dtype, (value(i) - (*s.mean)(kept)) / (unary(UnaryOp::Sqrt, (*s.variance)(kept)) + 1e-9));
  })};
}

}  // namespace

OpDef op_nn_mvn() {
  return {.name = "nn.mvn",
          .doc = "Values scaled to mean 0 and variance 1 over `axes`.",
          .attrs = {attr("axes", std::vector<int64_t>{0, 2, 3}, "the axes of the statistics")},
          .compute = compute,
          .samples = {"f32[B,C,H,W] B=2 C=3 H=2 W=4", "f32[M,N] M=3 N=4 axes=[1]"}};
}

}  // namespace pliant::ops
