// Quotients.
#include "ops/bodies/division.h"

namespace pliant::ops {

OpDef op_math_div() {
  return {.name = "math.div",
          .doc = "a / b with broadcasting; integers truncate, and a division of theirs by 0 is a fault.",
          .attrs = {nonzero_attr()},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = [](DefineContext& c) { return divided(c, BinaryOp::Div); },
          .samples = {"f32[M,N] f32[M,N] M=3 N=5", "f32[B,1,N] f32[M,1] B=2 M=3 N=4", "f16[M,N] f16[N] M=2 N=7",
                      "f32[M] f32[N] M=4 N=1", "i64[M,N] i64[]@-9..-1 M=2 N=3", "u8[M] u8[M]@1..9 M=9",
                      "i32[M] i32[N]@1..9 M=4 N=1", "i64[M] i64[M] M=5 nonzero=true"}};
}

}  // namespace pliant::ops
