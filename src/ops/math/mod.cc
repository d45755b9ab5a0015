// The remainder of a division.
#include "ops/bodies/division.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) { return divided(c, c.attr().as_bool("fmod") ? BinaryOp::Rem : BinaryOp::Mod); }

}  // namespace

OpDef op_math_mod() {
  return {.name = "math.mod",
          .doc = "The remainder of x / y with the sign of y, or of x with `fmod`; by 0 a fault for integers.",
          .attrs = {attr("fmod", false, "the sign of x, as C fmod has it"), nonzero_attr()},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"i32[M] i32[M]@1..9 M=7", "f32[M,N] f32[N] M=2 N=3 fmod=true", "i64[M] i64[]@-9..-1 M=5 fmod=true",
                      "f32[M] f32[M] M=5"}};
}

}  // namespace pliant::ops
