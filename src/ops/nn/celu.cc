// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  double alpha = c.attr().as_float("alpha");
  return map_floats(c, [=](DefineContext&, Scalar x) {
    Scalar zero = constant_like(x, 0);
    return maximum(x, zero) + minimum(unary(UnaryOp::Expm1, x / alpha) * alpha, zero);
  });
}

}  // namespace

OpDef op_nn_celu() {
  return {.name = "nn.celu",
          .doc = "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).",
          .attrs = {attr("alpha", 1.0)},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
