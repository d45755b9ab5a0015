// x where not negative, slope * x elsewhere; the slope broadcasts to x.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kNumbers));
  TRY(c.require_same_dtype(0, 1));
  std::vector<Dim> shape = TRY(c.broadcast(c.in(0)->shape, c.in(1)->shape));
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    Scalar x = c.at_broadcast(c.in(0), i);
    return expr::make_select(greater_equal(x, constant_like(x, 0)), x, x * c.at_broadcast(c.in(1), i));
  })};
}

}  // namespace

OpDef op_nn_prelu() {
  return {.name = "nn.prelu",
          .doc = "x where not negative, slope * x elsewhere; the slope broadcasts to x.",
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[B,C,H] f32[C,1] B=2 C=3 H=4", "f16[M] f16[M] M=5", "i32[M] i32[] M=3"}};
}

}  // namespace pliant::ops
