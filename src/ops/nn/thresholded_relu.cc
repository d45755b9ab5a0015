// x where it is more than alpha, 0 elsewhere.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  double alpha = c.attr().as_float("alpha");
  return map_floats(c, [=](DefineContext&, Scalar x) {
    return expr::make_select(greater(x, constant_like(x, alpha)), x, constant_like(x, 0));
  });
}

}  // namespace

OpDef op_nn_thresholded_relu() {
  return {.name = "nn.thresholded_relu",
          .doc = "x where it is more than alpha, 0 elsewhere.",
          .attrs = {attr("alpha", 1.0)},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
