// Small integers as floats.
#include "ops/bodies/quantise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  TRY(require_domain(c, 0, kInts));
  QuantParams p = TRY(read_quant_params(c, 1, 2));
  DType to = c.attr().has("to") ? c.attr().as_dtype("to") : c.in(1)->dtype, work = wide(to);
  if (!is_float(to)) return c.fail("bad-attribute", std::string("the result may not be ") + name_of(to));
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Scalar v = expr::make_cast(DType::I32, (*x)(i));
    if (p.zero) v = v - p.zero(i);
    return expr::make_cast(to, expr::make_cast(work, v) * expr::make_cast(work, p.scale(i)));
  })};
}

}  // namespace

OpDef op_quant_dequantize() {
  return {.name = "quant.dequantize",
          .doc = "(x - zero_point) * scale.",
          .attrs = {attr("axis", 1, "the axis of scales of rank 1 or in blocks"),
                    attr("block_size", 0, "elements that share a scale; 0: no blocks"),
                    optional_attr("to", AttrKind::DType, "the type of the result; the scale's when absent")},
          .min_inputs = 2,
          .max_inputs = 3,
          .compute = compute,
          .samples = {"u8[M,N] f32[]@1..2 u8[] M=3 N=4", "i8[M,N] f32[N]@1..2 i8[N] M=3 N=4", "i32[M] f16[]@1..2 M=5",
                      "i16[M,4] f32[M,2]@1..2 i16[M,2] M=2 block_size=2"}};
}

}  // namespace pliant::ops
