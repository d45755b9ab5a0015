// The input unchanged.
#include "ops/bodies/scalars.h"

namespace pliant::ops {

OpDef op_math_identity() {
  return {.name = "math.identity",
          .doc = "The input unchanged.",
          .compute = [](DefineContext& c) -> Tensors {
            return std::vector{c.te().map("y", c.in(0)->shape, [&](const Index& i) { return (*c.in(0))(i); })};
          },
          .samples = {"f32[M,N] M=3 N=5", "bool[M] M=4", "i64[]"}};
}

}  // namespace pliant::ops
