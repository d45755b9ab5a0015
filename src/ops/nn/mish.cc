// x * tanh(softplus(x)).
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  return map_floats(c, [=](DefineContext&, Scalar x) {
    Scalar softplus = maximum(x, constant_like(x, 0)) + unary(UnaryOp::Log1p, unary(UnaryOp::Exp, -unary(UnaryOp::Abs, x)));
    return x * unary(UnaryOp::Tanh, softplus);
  });
}

}  // namespace

OpDef op_nn_mish() {
  return {.name = "nn.mish",
          .doc = "x * tanh(softplus(x)).",
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
