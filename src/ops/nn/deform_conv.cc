// Convolution whose taps are moved by offsets.
#include "ops/convolution.h"

namespace pliant::ops {
namespace {

// Inputs: x 0, w 1, offset 2, bias? 3, mask? 4; two spatial axes.
Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &w = c.in(1), &offset = c.in(2);
  TRY(require_domain(c, 0, kFloats));
  for (size_t k : {size_t{1}, size_t{2}, size_t{3}, size_t{4}})
    if (c.has(k)) TRY(c.require_same_dtype(0, k));
  if (x->rank() != 4 || w->rank() != 4 || offset->rank() != 4 || (c.has(4) && c.in(4)->rank() != 4))
    return c.fail("unsupported-shape", "a deformable convolution takes tensors of rank 4");
  int64_t group = c.attr().as_int("group"), offset_group = c.attr().as_int("offset_group");
  if (group < 1 || offset_group < 1) return c.fail("bad-attribute", "groups must be positive");
  Window window = TRY(read_window(c, {x->shape[2], x->shape[3]}, {w->shape[2], w->shape[3]}));
  Dim taps = w->shape[2] * w->shape[3], group_in = w->shape[1], group_out = expr::floordiv(w->shape[0], group),
      per_offset = expr::floordiv(x->shape[1], offset_group);
  TRY(c.require_equal(x->shape[1], group_in * group, "the input's channels and those of the weight times group"));
  TRY(c.require_equal(offset->shape[1], taps * (2 * offset_group), "the channels of the offsets"));
  std::vector<Dim> out = window.output(), shape{x->shape[0], w->shape[0], out[0], out[1]};
  TRY(c.require_equal(offset->shape[0], x->shape[0], "the batch of the offsets"));
  for (size_t k : {size_t{0}, size_t{1}})
    TRY(c.require_equal(offset->shape[k + 2], out[k], "a spatial axis of the offsets"));
  if (c.has(4)) {
    const std::vector<Dim> mask{x->shape[0], taps * offset_group, out[0], out[1]};
    for (size_t k = 0; k < 4; ++k) TRY(c.require_equal(c.in(4)->shape[k], mask[k], "an axis of the mask"));
  }
  if (c.has(3)) TRY(require_bias(c, 3, w->shape[0]));
  DType work = wide(x->dtype);
  Tensor sum = c.te().reduce(
      "deform_conv", shape, {group_in, w->shape[2], w->shape[3]}, te::Combiner::Sum, [&](const Index& o, const Index& r) {
        Dim channel = group == 1 ? r[0] : expr::floordiv(o[1], group_out) * group_in + r[0];
        Dim which = offset_group == 1 ? c.dim(0) : expr::floordiv(channel, per_offset), tap = r[1] * w->shape[3] + r[2];
        Scalar near[2], far[2], whole[2];
        for (size_t k = 0; k < 2; ++k) {
          Scalar moved =
              expr::make_cast(work, (*offset)({o[0], (which * taps + tap) * 2 + static_cast<int64_t>(k), o[2], o[3]}));
          Scalar p = number(work, window.axes[k].position(o[k + 2], r[k + 1])) + moved;
          whole[k] = unary(UnaryOp::Floor, p);
          far[k] = p - whole[k];
          near[k] = 1.0 - far[k];
        }
        auto corner = [&](double dy, double dx) {
          Index at{o[0], channel};
          Scalar inside, weight = (dy == 0 ? near[0] : far[0]) * (dx == 0 ? near[1] : far[1]);
          for (size_t k = 0; k < 2; ++k) {
            Scalar v = whole[k] + (k == 0 ? dy : dx), last = number(work, x->shape[k + 2]) - 1;
            Scalar good = expr::logical_and(greater_equal(v, constant_like(v, 0)), make_binary(BinaryOp::Le, v, last));
            inside = inside ? expr::logical_and(inside, good) : good;
            at.push_back(expr::value(expr::make_cast(DType::I64, v)));
          }
          Scalar v = expr::make_cast(work, (*x)(at));
          return expr::make_select(inside, v * weight, constant_like(v, 0));
        };
        Scalar v = corner(0, 0) + corner(0, 1) + corner(1, 0) + corner(1, 1);
        if (c.has(4)) v = v * expr::make_cast(work, (*c.in(4))({o[0], which * taps + tap, o[2], o[3]}));
        return v * expr::make_cast(work, (*w)({o[1], r[0], r[1], r[2]}));
      });
  return std::vector{c.te().map("y", shape, [&](const Index& i) {
    Scalar v = (*sum)(i);
    if (c.has(3)) v = v + expr::make_cast(work, (*c.in(3))({i[1]}));
    return expr::make_cast(x->dtype, v);
  })};
}

}  // namespace

OpDef op_nn_deform_conv() {
  return {.name = "nn.deform_conv",
          .doc =
              "Convolution over two spatial axes with taps moved by offsets, read by bilinear interpolation, and scaled by "
              "a mask.",
          .attrs = window_attrs() + std::vector<AttrSpec>{attr("group", 1, "channels are split into this many groups"),
                                                          attr("offset_group", 1, "channels with offsets of their own")},
          .min_inputs = 3,
          .max_inputs = 5,
          .compute = compute,
          .samples = {"f32[B,2,H,W] f32[3,2,2,2] f32[B,8,2,3] f32[3] f32[B,4,2,3] B=1 H=3 W=4",
                      "f32[B,2,H,W] f32[2,1,2,2] f32[B,16,2,2] B=1 H=3 W=3 group=2 offset_group=2"}};
}

}  // namespace pliant::ops
