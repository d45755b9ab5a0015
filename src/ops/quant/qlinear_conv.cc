// A convolution of quantised tensors, quantised again.
#include "ops/bodies/quantise.h"
#include "ops/bodies/window/convolution.h"

namespace pliant::ops {
namespace {

// Inputs: x 0, x_scale 1, x_zero 2, w 3, w_scale 4, w_zero 5, y_scale 6, y_zero 7, bias 8.
Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &w = c.in(3);
  TRY(require_domain(c, 0, kInts));
  TRY(require_domain(c, 3, kInts));
  TRY(require_weight(c, 0, 3));
  for (size_t k : {size_t{1}, size_t{2}, size_t{6}, size_t{7}}) TRY(require_single(c, k));
  auto per_channel = [&](size_t k) { return c.in(k)->rank() == 1 && !c.in(k)->shape[0].is_const(1); };
  for (size_t k : {size_t{4}, size_t{5}}) {
    if (per_channel(k))
      TRY(c.require_equal(c.in(k)->shape[0], w->shape[0], "the weight's parameters and the output channels"));
    else
      TRY(require_single(c, k));
  }
  auto of_channel = [&](size_t k, Dim channel) { return per_channel(k) ? (*c.in(k))({channel}) : single(c, k); };
  auto i32 = [](Scalar v) { return expr::make_cast(DType::I32, v); };
  auto f32 = [](Scalar v) { return expr::make_cast(DType::F32, v); };
  Convolution conv = TRY(convolve(c, {x->shape, w->shape, [&](const Index& i) { return i32((*x)(i)) - i32(single(c, 2)); },
                                      [&](const Index& i) { return i32((*w)(i)) - i32(of_channel(5, i[0])); }, DType::I32}));
  if (c.has(8)) TRY(require_bias(c, 8, w->shape[0]));
  DType to = c.in(7)->dtype;
  return std::vector{c.te().map("y", conv.sum->shape, [&](const Index& i) {
    Dim channel = i[conv.layout.channel_axis()];
    Scalar v = (*conv.sum)(i);
    if (c.has(8)) v = v + i32((*c.in(8))({channel}));
    Scalar scale = f32(single(c, 1)) * f32(of_channel(4, channel)) / f32(single(c, 6));
    return saturate_to(to, f32(v) * scale, single_zero(c, 7));
  })};
}

}  // namespace

OpDef op_quant_qlinear_conv() {
  return {.name = "quant.qlinear_conv",
          .doc = "The convolution of two quantised tensors, quantised with the scale and zero point of y.",
          .attrs = window_attrs() +
                   std::vector<AttrSpec>{attr("group", 1, "channels are split into this many groups"), layout_attr()},
          .min_inputs = 8,
          .max_inputs = 9,
          .compute = compute,
          .samples = {
              "u8[B,2,H,W] f32[]@1..2 u8[] i8[3,2,3,3] f32[3]@1..2 i8[3] f32[]@1..2 u8[] i32[3] B=1 H=4 W=5 pads=[1,1,1,1]",
              "u8[B,2,H,W] f32[]@1..2 u8[] u8[3,2,1,1] f32[]@1..2 u8[] f32[]@1..2 u8[] B=1 H=2 W=2"}};
}

}  // namespace pliant::ops
