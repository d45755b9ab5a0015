// Floats as small integers.
#include "ops/bodies/quantise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  TRY(require_domain(c, 0, x->dtype == DType::I32 ? unsigned{kInts} : unsigned{kFloats}));
  QuantParams p = TRY(read_quant_params(c, 1, 2));
  DType to = c.has(2) ? c.in(2)->dtype : c.attr().as_dtype("to");
  if (!is_int(to)) return c.fail("bad-attribute", std::string("the quantised type may not be ") + name_of(to));
  DType precision = c.attr().has("precision") ? c.attr().as_dtype("precision") : c.in(1)->dtype;
  if (!is_float(precision)) return c.fail("bad-attribute", std::string("the precision may not be ") + name_of(precision));
  DType work = wide(precision);
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    auto operand = [&](Scalar v) { return expr::make_cast(work, expr::make_cast(precision, v)); };
    Scalar v = expr::make_cast(precision, operand((*x)(i)) / operand(p.scale(i)));
    return saturate_to(to, expr::make_cast(work, v), p.zero ? p.zero(i) : Scalar());
  })};
}

}  // namespace

OpDef op_quant_quantize() {
  return {
      .name = "quant.quantize",
      .doc = "saturate(round(x / scale) + zero_point), with ties to even.",
      .attrs = {attr("axis", 1, "the axis of scales of rank 1 or in blocks"),
                attr("block_size", 0, "elements that share a scale; 0: no blocks"),
                attr("to", DType::U8, "the type of the result; a zero point gives its own"),
                optional_attr("precision", AttrKind::DType, "the type of the division; the scales' when absent")},
      .min_inputs = 2,
      .max_inputs = 3,
      .compute = compute,
      .samples = {"f32[M,N] f32[]@1..2 u8[] M=3 N=4", "f32[M,N] f32[N]@1..2 i8[N] M=3 N=4", "f16[M] f16[]@1..2 M=5 to=i8",
                  "f16[M] f16[]@1..2 M=5 precision=f32", "f32[M,4] f32[M,2]@1..2 M=2 block_size=2 to=i16"}};
}

}  // namespace pliant::ops
