// One of two values by a condition.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kBools));
  TRY(c.require_same_dtype(1, 2));
  std::vector<Dim> shape = TRY(c.broadcast(TRY(c.broadcast(c.in(0)->shape, c.in(1)->shape)), c.in(2)->shape));
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    return expr::make_select(c.at_broadcast(c.in(0), i), c.at_broadcast(c.in(1), i), c.at_broadcast(c.in(2), i));
  })};
}

}  // namespace

OpDef op_math_where() {
  return {.name = "math.where",
          .doc = "x where the condition holds, else y, with broadcasting.",
          .min_inputs = 3,
          .max_inputs = 3,
          .compute = compute,
          .samples = {"bool[M,N] f32[M,N] f32[] M=3 N=4", "bool[M,1] i64[N] i64[M,N] M=2 N=3"}};
}

}  // namespace pliant::ops
