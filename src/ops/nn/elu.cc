// x where positive, alpha * (exp(x) - 1) elsewhere.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  double alpha = c.attr().as_float("alpha");
  return map_floats(c, [=](DefineContext&, Scalar x) {
    Scalar zero = constant_like(x, 0);
    return expr::make_select(greater_equal(x, zero), x, unary(UnaryOp::Expm1, minimum(x, zero)) * alpha);
  });
}

}  // namespace

OpDef op_nn_elu() {
  return {.name = "nn.elu",
          .doc = "x where positive, alpha * (exp(x) - 1) elsewhere.",
          .attrs = {attr("alpha", 1.0)},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
