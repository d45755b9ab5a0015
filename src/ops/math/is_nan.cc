// Whether an element is NaN.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  return std::vector{c.te().map("y", c.in(0)->shape, [&](const Index& i) { return unary(UnaryOp::IsNan, (*c.in(0))(i)); })};
}

}  // namespace

OpDef op_math_is_nan() {
  return {.name = "math.is_nan",
          .doc = "Whether an element is NaN.",
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=2", "f16[M] M=5"}};
}

}  // namespace pliant::ops
