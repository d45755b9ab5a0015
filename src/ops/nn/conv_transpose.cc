// The transpose of a convolution: every output gathers the inputs whose windows reach it.
#include "ops/bodies/window/convolution.h"

namespace pliant::ops {
namespace {

struct Axis {
  Dim input, output, kernel, pad_begin;
  int64_t stride = 1, dilation = 1;
};

Result<std::vector<Axis>> read_axes(DefineContext& c, const std::vector<Dim>& input, const std::vector<Dim>& kernel) {
  size_t n = input.size();
  AttrReader a = c.attr();
  std::vector<int64_t> strides = TRY(read_steps(c, "strides", n, kMostFactor)),
                       dilations = TRY(read_steps(c, "dilations", n)), extra = a.as_ints("output_padding");
  std::vector<Dim> pads = a.as_dims("pads");
  const std::vector<Dim>& wanted = a.as_dims("output_shape");
  const std::string& auto_pad = a.as_string("auto_pad");
  if (extra.empty()) extra.assign(n, 0);
  if (pads.empty() || auto_pad != "notset") pads.assign(2 * n, c.dim(0));
  if (extra.size() != n || pads.size() != 2 * n || (!wanted.empty() && wanted.size() != n))
    return c.fail("bad-attribute",
                  "output_padding, pads and output_shape do not fit " + std::to_string(n) + " spatial axes");
  std::vector<Dim> added = pads;
  for (int64_t e : extra) added.push_back(c.dim(e));
  TRY(check_extents(c, kernel, dilations, added));
  std::vector<Axis> axes;
  for (size_t k = 0; k < n; ++k) {
    Dim full = (input[k] - 1) * strides[k] + extra[k] + (kernel[k] - 1) * dilations[k] + 1;
    Axis x{input[k], full - pads[k] - pads[n + k], kernel[k], pads[k], strides[k], dilations[k]};
    bool same = auto_pad == "same_upper" || auto_pad == "same_lower";
    if (!wanted.empty() || same) {
      // The pads follow from the size of the output; the odd one goes to the end, or to the beginning with same_lower.
      x.output = wanted.empty() ? input[k] * strides[k] : wanted[k];
      Dim total = expr::max(full - x.output, c.dim(0)), half = expr::floordiv(total, 2);
      x.pad_begin = auto_pad == "same_upper" ? half : total - half;
    }
    if (!c.ctx().proves_less_equal(c.dim(0), x.output)) x.output = expr::max(x.output, c.dim(0));
    axes.push_back(x);
  }
  return axes;
}

// The input position that reaches output `o` through tap `k`, and whether there is one.
struct Tap {
  Dim position;
  Scalar exists;
};
Tap tap(const Axis& a, Dim o, Dim k, expr::Context& ctx) {
  Dim at = o + a.pad_begin - k * a.dilation;
  Dim position = a.stride == 1 ? at : expr::floordiv(at, a.stride);
  Scalar exists = expr::logical_and(expr::less_equal(ctx.constant(0), position), expr::less(position, a.input));
  if (a.stride != 1) exists = expr::logical_and(expr::equal(expr::mod(at, a.stride), ctx.constant(0)), exists);
  return {position, exists};
}

Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  TRY(require_domain(c, 0, kNumbers));
  TRY(c.require_same_dtype(0, 1));
  Layout layout = TRY(read_layout(c, x->rank()));
  TRY(require_weight(c, 0, 1));
  int64_t group = c.attr().as_int("group");
  if (group < 1) return c.fail("bad-attribute", "group must be positive");
  Dim channels = x->shape[layout.channel_axis()], group_out = w->shape[1], group_in = expr::floordiv(w->shape[0], group);
  TRY(c.require_equal(channels, w->shape[0], "the input's channels and those of the weight"));
  TRY(c.require_equal(expr::mod(w->shape[0], group), c.dim(0), "the input channels divided by group leave a rest and 0"));
  if (c.has(2)) TRY(require_bias(c, 2, group_out * group));
  std::vector<Dim> input, kernel(w->shape.begin() + 2, w->shape.end()), output;
  for (size_t k = 0; k < layout.spatial_rank(); ++k) input.push_back(x->shape[layout.spatial_axis(k)]);
  std::vector<Axis> axes = TRY(read_axes(c, input, kernel));
  for (const Axis& a : axes) output.push_back(a.output);
  std::vector<Dim> reduced{group_in};
  reduced.insert(reduced.end(), kernel.begin(), kernel.end());
  DType work = wide(x->dtype);
  std::vector<Dim> shape = layout.make(x->shape[0], group_out * group, output);
  Tensor sum = c.te().reduce("conv_transpose", shape, reduced, te::Combiner::Sum, [&](const Index& o, const Index& r) {
    Dim oc = o[layout.channel_axis()];
    Dim ic = group == 1 ? r[0] : expr::floordiv(oc, group_out) * group_in + r[0];
    Index w_at{ic, group == 1 ? oc : expr::mod(oc, group_out)}, position;
    Scalar exists;
    for (size_t k = 0; k < axes.size(); ++k) {
      Tap t = tap(axes[k], o[layout.spatial_axis(k)], r[k + 1], c.ctx());
      exists = exists ? expr::logical_and(exists, t.exists) : t.exists;
      position.push_back(t.position);
      w_at.push_back(r[k + 1]);
    }
    Scalar v = expr::make_cast(work, (*x)(layout.make(o[0], ic, position)));
    return expr::make_select(exists, v, constant_like(v, 0)) * expr::make_cast(work, (*w)(w_at));
  });
  if (!c.has(2) && work == x->dtype) return std::vector{sum};
  return std::vector{c.te().map("y", shape, [&](const Index& i) {
    Scalar v = (*sum)(i);
    if (c.has(2)) v = v + expr::make_cast(work, (*c.in(2))({i[layout.channel_axis()]}));
    return expr::make_cast(x->dtype, v);
  })};
}

}  // namespace

OpDef op_nn_conv_transpose() {
  return {.name = "nn.conv_transpose",
          .doc = "The transpose of a convolution: inputs spread over windows of the output that are added up, plus a bias.",
          .attrs =
              window_attrs() +
              std::vector<AttrSpec>{attr("group", 1, "channels are split into this many groups"), layout_attr(),
                                    attr("output_padding", std::vector<int64_t>{}, "added to the output's end; empty: none"),
                                    attr("output_shape", std::vector<Dim>{}, "spatial sizes; the pads follow from them")},
          .min_inputs = 2,
          .max_inputs = 3,
          .compute = compute,
          .samples = {"f32[B,2,H,W] f32[2,3,2,2] f32[3] B=1 H=3 W=4 strides=[2,2]",
                      "f32[B,1,H,W] f32[1,2,3,3] B=1 H=3 W=3 strides=[3,2] output_padding=[1,1]",
                      "f32[B,4,L] f32[4,1,3] B=2 L=5 group=2 pads=[1,0] dilations=[2]",
                      "f32[B,H,W,2] f32[2,3,3,3] B=1 H=3 W=2 layout=NHWC strides=[2,2] pads=[1,1,1,1]",
                      "f32[B,1,H,W] f32[1,2,3,3] B=1 H=3 W=3 strides=[2,2] auto_pad=same_upper",
                      "f32[B,1,L] f32[1,1,3] B=1 L=3 strides=[3] output_shape=[10]"}};
}

}  // namespace pliant::ops
