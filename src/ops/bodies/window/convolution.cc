#include "ops/bodies/window/convolution.h"

namespace pliant::ops {

Status require_bias(DefineContext& c, size_t input, Dim channels) {
  if (c.in(input)->rank() != 1)
    return c.fail("shape-mismatch", "a bias must have rank 1 but has " + std::to_string(c.in(input)->rank()));
  return c.require_equal(c.in(input)->shape[0], channels, "the bias and the output channels");
}

Status require_weight(DefineContext& c, size_t input, size_t weight) {
  const size_t rank = c.in(input)->rank(), of_weight = c.in(weight)->rank();
  TRY(read_layout(c, rank));
  if (of_weight == rank) return ok();
  return c.fail("shape-mismatch",
                "the weight has rank " + std::to_string(of_weight) + " but the input " + std::to_string(rank));
}

Result<Convolution> convolve(DefineContext& c, const ConvolutionSource& s) {
  Convolution out;
  out.layout = TRY(read_layout(c, s.x_shape.size()));
  const Layout& layout = out.layout;
  int64_t group = c.attr().as_int("group");
  if (group < 1) return c.fail("bad-attribute", "group must be positive");
  Dim channels = s.x_shape[layout.channel_axis()], out_channels = s.w_shape[0], group_channels = s.w_shape[1];
  TRY(c.require_equal(channels, group_channels * group, "the input's channels and those of the weight times group"));
  TRY(c.require_equal(expr::mod(out_channels, group), c.dim(0), "the output channels divided by group leave a rest and 0"));
  std::vector<Dim> spatial, kernel(s.w_shape.begin() + 2, s.w_shape.end());
  for (size_t k = 0; k < layout.spatial_rank(); ++k) spatial.push_back(s.x_shape[layout.spatial_axis(k)]);
  out.window = TRY(read_window(c, spatial, kernel));
  std::vector<Dim> reduced{group_channels};
  reduced.insert(reduced.end(), kernel.begin(), kernel.end());
  Dim group_out = expr::floordiv(out_channels, group);
  std::vector<Dim> shape = layout.make(s.x_shape[0], out_channels, out.window.output());
  out.sum = c.te().reduce("conv", shape, reduced, te::Combiner::Sum, [&](const Index& o, const Index& r) {
    Dim oc = o[layout.channel_axis()];
    Dim ic = group == 1 ? r[0] : expr::floordiv(oc, group_out) * group_channels + r[0];
    Index w_at{oc, r[0]}, position;
    for (size_t k = 0; k < layout.spatial_rank(); ++k) {
      position.push_back(out.window.axes[k].position(o[layout.spatial_axis(k)], r[k + 1]));
      w_at.push_back(r[k + 1]);
    }
    Scalar x = s.x(layout.make(o[0], ic, position)), inside = out.window.inside(position, c.ctx());
    if (inside) x = expr::make_select(inside, x, constant_like(x, 0));
    return x * s.w(w_at);
  });
  return out;
}

}  // namespace pliant::ops
