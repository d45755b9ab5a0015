// Values held between two bounds.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kNumbers));
  for (size_t b : {size_t{1}, size_t{2}}) {
    if (!c.has(b)) continue;
    TRY(c.require_same_dtype(0, b));
    if (c.in(b)->rank() != 0) return c.fail("shape-mismatch", "a bound of math.clip must have rank 0");
  }
  return std::vector{c.te().map("y", c.in(0)->shape, [&](const Index& i) {
    Scalar x = (*c.in(0))(i);
    if (c.has(1)) x = maximum(x, (*c.in(1))({}));
    if (c.has(2)) x = minimum(x, (*c.in(2))({}));
    return x;
  })};
}

}  // namespace

OpDef op_math_clip() {
  return {.name = "math.clip",
          .doc = "min(max(x, low), high); a bound that is absent does not bind.",
          .min_inputs = 1,
          .max_inputs = 3,
          .compute = compute,
          .samples = {"f32[M,N] f32[] f32[] M=3 N=5", "f32[M] _ f32[] M=4", "i32[M] i32[] M=4", "f16[M] M=2"}};
}

}  // namespace pliant::ops
