// Convolution over one to three spatial axes.
#include "ops/bodies/window/convolution.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  DType to = c.attr().has("to") ? c.attr().as_dtype("to") : x->dtype, work = wide(to);
  if (!c.attr().has("to")) TRY(c.require_same_dtype(0, 1));
  TRY(require_domain(c, 0, kNumbers));
  TRY(require_domain(c, 1, kNumbers));
  TRY(require_weight(c, 0, 1));
  Convolution conv = TRY(convolve(c, {x->shape, w->shape, [&](const Index& i) { return expr::make_cast(work, (*x)(i)); },
                                      [&](const Index& i) { return expr::make_cast(work, (*w)(i)); }, work}));
  if (c.has(2)) TRY(require_bias(c, 2, w->shape[0]));
  if (!c.has(2) && work == to) return std::vector{conv.sum};
  return std::vector{c.te().map("y", conv.sum->shape, [&](const Index& i) {
    Scalar v = (*conv.sum)(i);
    if (c.has(2)) v = v + expr::make_cast(work, (*c.in(2))({i[conv.layout.channel_axis()]}));
    return expr::make_cast(to, v);
  })};
}

}  // namespace

OpDef op_nn_conv() {
  return {
      .name = "nn.conv",
      .doc =
          "Convolution: each output is the sum of products of a window of the input's channels with the weight, plus a "
          "bias.",
      .attrs =
          window_attrs() +
          std::vector<AttrSpec>{attr("group", 1, "channels are split into this many groups"), layout_attr(),
                                optional_attr("to", AttrKind::DType, "type of sums and result; the input's when absent")},
      .min_inputs = 2,
      .max_inputs = 3,
      .compute = compute,
      .samples = {"f32[B,3,H,W] f32[4,3,3,3] f32[4] B=2 H=5 W=6 pads=[1,1,1,1]",
                  "f32[B,4,H,W] f32[4,1,3,3] B=1 H=7 W=5 group=4 strides=[2,2] pads=[0,1,2,1]",
                  "f32[B,H,W,3] f32[4,3,3,2] f32[4] B=2 H=5 W=4 layout=NHWC pads=[1,0,1,1]",
                  "f32[B,4,L] f32[6,2,3] B=2 L=9 group=2 dilations=[2]", "f32[B,1,D,H,W] f32[2,1,2,2,2] B=1 D=3 H=4 W=3",
                  "f16[B,2,H,W] f16[3,2,1,1] f16[3] B=1 H=3 W=2",
                  "f32[B,2,H,W] f32[3,2,3,3] B=1 H=5 W=4 strides=[2,2] auto_pad=same_lower",
                  "f32[B,2,L] f32[3,2,K] B=1 L=6 K=3 auto_pad=same_upper", "u8[B,2,H,W] i8[3,2,3,3] B=1 H=4 W=4 to=i32"}};
}

}  // namespace pliant::ops
