// x * sigmoid(alpha * x).
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  double alpha = c.attr().as_float("alpha");
  return map_floats(c, [=](DefineContext&, Scalar x) { return x * unary(UnaryOp::Sigmoid, alpha == 1 ? x : x * alpha); });
}

}  // namespace

OpDef op_nn_silu() {
  return {.name = "nn.silu",
          .doc = "x * sigmoid(alpha * x).",
          .attrs = {attr("alpha", 1.0)},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
