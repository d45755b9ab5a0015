// The sum of two quantised tensors, quantised again.
#include "ops/bodies/quantise.h"

namespace pliant::ops {

OpDef op_quant_qlinear_add() {
  return {.name = "quant.qlinear_add",
          .doc = "The sum of two quantised tensors with broadcasting, quantised with the scale and zero point of y.",
          .min_inputs = 7,
          .max_inputs = 8,
          .optional_inputs = {2, 5},
          .compute = [](DefineContext& c) { return quantised_binary(c, BinaryOp::Add); },
          .samples = {"u8[M,N] f32[]@1..2 u8[] u8[N] f32[]@1..2 u8[] f32[]@1..2 u8[] M=2 N=3",
                      "i8[M] f32[]@1..2 _ i8[M] f32[]@1..2 i8[] f32[]@1..2 M=4"}};
}

}  // namespace pliant::ops
