// log(1 + exp(x)), without overflow.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  return map_floats(c, [=](DefineContext&, Scalar x) {
    return maximum(x, constant_like(x, 0)) + unary(UnaryOp::Log1p, unary(UnaryOp::Exp, -unary(UnaryOp::Abs, x)));
  });
}

}  // namespace

OpDef op_nn_softplus() {
  return {.name = "nn.softplus",
          .doc = "log(1 + exp(x)), without overflow.",
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=3"}};
}

}  // namespace pliant::ops
