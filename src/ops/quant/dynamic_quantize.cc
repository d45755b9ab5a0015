// Quantisation by the range of the data: y (u8), scale and zero point, where 0 is exactly representable.
#include "ops/bodies/quantise.h"
#include "ops/bodies/reduction.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  if (x->dtype != DType::F32)
    return c.fail("type-mismatch", std::string("the input must be f32 but is ") + name_of(x->dtype));
  auto extreme = [&](std::string name, te::Combiner combiner) {
    if (x->rank() == 0) return x;
    return c.te().reduce(std::move(name), {}, x->shape, combiner, [&](const Index&, const Index& r) { return (*x)(r); });
  };
  Tensor lowest = extreme("lowest", te::Combiner::Min), highest = extreme("highest", te::Combiner::Max);
  auto low = [&] { return minimum((*lowest)({}), expr::make_const(c.ctx(), DType::F32, 0)); };
  auto high = [&] { return maximum((*highest)({}), expr::make_const(c.ctx(), DType::F32, 0)); };
  Tensor scale = c.te().map("scale", {}, [&](const Index&) {
    Scalar range = high() - low();
    // A tensor of zeros has no range; any scale represents it.
    return expr::make_select(same_value(range, constant_like(range, 0)), constant_like(range, 1), range / 255.0);
  });
  Tensor zero = c.te().map("zero_point", {}, [&](const Index&) {
    return expr::make_cast(DType::U8, unary(UnaryOp::Round, (0.0 - low()) / (*scale)({})));
  });
  Tensor y = c.te().map("y", x->shape, [&](const Index& i) {
    return saturate_to(DType::U8, (*x)(i) / (*scale)({}), expr::make_cast(DType::I32, (*zero)({})));
  });
  return std::vector{y, scale, zero};
}

}  // namespace

OpDef op_quant_dynamic_quantize() {
  return {.name = "quant.dynamic_quantize",
          .doc = "The input as u8 with a scale and a zero point that fit its range; outputs y, scale, zero point.",
          .outputs = 3,
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=4 outputs=3", "f32[M] M=6 outputs=3"}};
}

}  // namespace pliant::ops
