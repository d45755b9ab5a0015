// x * max(0, min(1, x / 6 + 1 / 2)).
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  return map_floats(c, [=](DefineContext&, Scalar x) {
    Scalar gate = x * (1.0 / 6) + 0.5;
    return x * maximum(minimum(gate, constant_like(x, 1)), constant_like(x, 0));
  });
}

}  // namespace

OpDef op_nn_hard_swish() {
  return {.name = "nn.hard_swish",
          .doc = "x * max(0, min(1, x / 6 + 1 / 2)).",
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
