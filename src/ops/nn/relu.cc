// max(0, x).
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kNumbers));
  return std::vector{c.te().map("y", c.in(0)->shape, [&](const Index& i) {
    Scalar x = (*c.in(0))(i);
    return maximum(x, constant_like(x, 0));
  })};
}

}  // namespace

OpDef op_nn_relu() {
  return {.name = "nn.relu",
          .doc = "max(0, x).",
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "i32[M] M=4"}};
}

}  // namespace pliant::ops
