// Convolution of small integers less their zero points, in i32. The padding counts as the zero point.
#include "ops/bodies/quantise.h"
#include "ops/bodies/window/convolution.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  TRY(require_domain(c, 0, kInts));
  TRY(require_domain(c, 1, kInts));
  TRY(require_weight(c, 0, 1));
  if (c.has(2)) TRY(require_single(c, 2));
  bool per_channel = c.has(3) && c.in(3)->rank() == 1 && !c.in(3)->shape[0].is_const(1);
  if (per_channel)
    TRY(c.require_equal(c.in(3)->shape[0], w->shape[0], "the weight's zero points and the output channels"));
  else if (c.has(3))
    TRY(require_single(c, 3));
  auto centred = [&](Scalar v, bool has_zero, auto zero) {
    v = expr::make_cast(DType::I32, v);
    return has_zero ? v - expr::make_cast(DType::I32, zero()) : v;
  };
  Convolution conv = TRY(convolve(
      c, {x->shape, w->shape, [&](const Index& i) { return centred((*x)(i), c.has(2), [&] { return single(c, 2); }); },
          [&](const Index& i) {
            return centred((*w)(i), c.has(3), [&] { return per_channel ? (*c.in(3))({i[0]}) : single(c, 3); });
          },
          DType::I32}));
  return std::vector{conv.sum};
}

}  // namespace

OpDef op_quant_conv_integer() {
  return {.name = "quant.conv_integer",
          .doc = "Convolution of (x - x_zero) with (w - w_zero) in i32.",
          .attrs = window_attrs() +
                   std::vector<AttrSpec>{attr("group", 1, "channels are split into this many groups"), layout_attr()},
          .min_inputs = 2,
          .max_inputs = 4,
          .compute = compute,
          .samples = {"u8[B,2,H,W] i8[3,2,3,3] u8[] i8[] B=1 H=4 W=5 pads=[1,1,1,1]",
                      "u8[B,2,L] u8[3,2,3] u8[] u8[3] B=2 L=6", "i8[B,2,H,W] i8[2,1,2,2] B=1 H=3 W=3 group=2"}};
}

}  // namespace pliant::ops
