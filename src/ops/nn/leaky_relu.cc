// x where not negative, alpha * x elsewhere.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  double alpha = c.attr().as_float("alpha");
  return map_floats(
      c, [=](DefineContext&, Scalar x) { return expr::make_select(greater_equal(x, constant_like(x, 0)), x, x * alpha); });
}

}  // namespace

OpDef op_nn_leaky_relu() {
  return {.name = "nn.leaky_relu",
          .doc = "x where not negative, alpha * x elsewhere.",
          .attrs = {attr("alpha", 0.01)},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
