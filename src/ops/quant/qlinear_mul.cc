// The product of two quantised tensors, quantised again.
#include "ops/quantise.h"

namespace pliant::ops {
namespace {

// Inputs: a 0, a_scale 1, a_zero 2, b 3, b_scale 4, b_zero 5, y_scale 6, y_zero 7.
Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kInts));
  TRY(require_domain(c, 3, kInts));
  for (size_t k : {size_t{1}, size_t{2}, size_t{4}, size_t{5}, size_t{6}, size_t{7}})
    if (c.has(k)) TRY(require_single(c, k));
  std::vector<Dim> shape = TRY(c.broadcast(c.in(0)->shape, c.in(3)->shape));
  DType to = c.has(7) ? c.in(7)->dtype : c.in(0)->dtype;
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    auto real_value = [&](size_t k) {
      Scalar v = expr::make_cast(DType::I32, c.at_broadcast(c.in(k), i)) - single_zero(c, k + 2);
      return expr::make_cast(DType::F32, v) * single(c, k + 1);
    };
    return saturate_to(to, (real_value(0) * real_value(3)) / single(c, 6), single_zero(c, 7));
  })};
}

}  // namespace

OpDef op_quant_qlinear_mul() {
  return {.name = "quant.qlinear_mul",
          .doc = "The product of two quantised tensors with broadcasting, quantised with the scale and zero point of y.",
          .min_inputs = 7,
          .max_inputs = 8,
          .optional_inputs = {2, 5},
          .compute = compute,
          .samples = {"u8[M,N] f32[]@1..2 u8[] u8[N] f32[]@1..2 u8[] f32[]@1..2 u8[] M=2 N=3",
                      "i8[M] f32[]@1..2 _ i8[M] f32[]@1..2 i8[] f32[]@1..2 M=4"}};
}

}  // namespace pliant::ops
