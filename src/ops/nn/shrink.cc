// x + bias below -lambd, x - bias above lambd, 0 between.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kNumbers));
  double bias = c.attr().as_float("bias"), lambd = c.attr().as_float("lambd");
  return std::vector{c.te().map("y", c.in(0)->shape, [&](const Index& i) {
    Scalar x = (*c.in(0))(i);
    DType work = real(x.dtype());
    Scalar v = expr::make_cast(work, x), zero = constant_like(v, 0);
    Scalar y = expr::make_select(less_than(v, constant_like(v, -lambd)), v + bias,
                                 expr::make_select(greater(v, constant_like(v, lambd)), v - bias, zero));
    return expr::make_cast(x.dtype(), y);
  })};
}

}  // namespace

OpDef op_nn_shrink() {
  return {.name = "nn.shrink",
          .doc = "x + bias below -lambd, x - bias above lambd, 0 between.",
          .attrs = {attr("bias", 0.0), attr("lambd", 0.5)},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[M] M=7 bias=1.0 lambd=0.25", "i32[M] M=4"}};
}

}  // namespace pliant::ops
