// Whether an element is infinite, of either sign or of one.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  bool positive = c.attr().as_bool("positive"), negative = c.attr().as_bool("negative");
  return std::vector{c.te().map("y", c.in(0)->shape, [&](const Index& i) {
    Scalar x = (*c.in(0))(i), inf = unary(UnaryOp::IsInf, x), zero = constant_like(x, 0);
    if (positive && negative) return inf;
    if (positive) return expr::logical_and(inf, greater(x, zero));
    if (negative) return expr::logical_and(inf, less_than(x, zero));
    return expr::make_const(c.ctx(), DType::Bool, 0);
  })};
}

}  // namespace

OpDef op_math_is_inf() {
  return {.name = "math.is_inf",
          .doc = "Whether an element is infinite.",
          .attrs = {attr("positive", true, "+inf counts"), attr("negative", true, "-inf counts")},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=2", "f32[M] M=5 positive=false", "f16[M] M=5 negative=false"}};
}

}  // namespace pliant::ops
