// max(0, min(1, alpha * x + beta)).
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  double alpha = c.attr().as_float("alpha");
  double beta = c.attr().as_float("beta");
  return map_floats(c, [=](DefineContext&, Scalar x) {
    return maximum(minimum(x * alpha + beta, constant_like(x, 1)), constant_like(x, 0));
  });
}

}  // namespace

OpDef op_nn_hard_sigmoid() {
  return {.name = "nn.hard_sigmoid",
          .doc = "max(0, min(1, alpha * x + beta)).",
          .attrs = {attr("alpha", 0.2), attr("beta", 0.5)},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
