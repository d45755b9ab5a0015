// The remainder of a division.
#include "ops/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(c.require_same_dtype(0, 1));
  TRY(require_domain(c, 0, kNumbers));
  BinaryOp op = c.attr().as_bool("fmod") ? BinaryOp::Rem : BinaryOp::Mod;
  std::vector<Dim> shape = TRY(c.broadcast(c.in(0)->shape, c.in(1)->shape));
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    return make_binary(op, c.at_broadcast(c.in(0), i), c.at_broadcast(c.in(1), i));
  })};
}

}  // namespace

OpDef op_math_mod() {
  return {.name = "math.mod",
          .doc = "The remainder of x / y with the sign of y, or of x with `fmod`.",
          .attrs = {attr("fmod", false, "the sign of x, as C fmod has it")},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"i32[M] i32[M] M=7", "f32[M,N] f32[N] M=2 N=3 fmod=true", "i64[M] i64[] M=5 fmod=true",
                      "f32[M] f32[M] M=5"}};
}

}  // namespace pliant::ops
