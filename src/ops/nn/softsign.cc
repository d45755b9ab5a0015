// x / (1 + |x|).
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  return map_floats(c, [=](DefineContext&, Scalar x) { return x / (unary(UnaryOp::Abs, x) + 1); });
}

}  // namespace

OpDef op_nn_softsign() {
  return {.name = "nn.softsign",
          .doc = "x / (1 + |x|).",
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
