// gamma * x where positive, gamma * alpha * (exp(x) - 1) elsewhere.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  double alpha = c.attr().as_float("alpha");
  double gamma = c.attr().as_float("gamma");
  return map_floats(c, [=](DefineContext&, Scalar x) {
    Scalar zero = constant_like(x, 0);
    return expr::make_select(greater(x, zero), x, unary(UnaryOp::Expm1, minimum(x, zero)) * alpha) * gamma;
  });
}

}  // namespace

OpDef op_nn_selu() {
  return {.name = "nn.selu",
          .doc = "gamma * x where positive, gamma * alpha * (exp(x) - 1) elsewhere.",
          .attrs = {attr("alpha", 1.67326319217681884765625), attr("gamma", 1.05070102214813232421875)},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
