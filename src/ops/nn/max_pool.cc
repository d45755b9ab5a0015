// The largest element of each window, and on request where it stands.
#include "ops/bodies/window/pool.h"

namespace pliant::ops {
namespace {

Scalar element(DefineContext& c, const Pool& p, const Index& o, const Index& r) {
  const Tensor& x = c.in(0);
  Scalar v = (*x)(p.index(o, r)), inside = p.inside(o, r, c.ctx());
  return inside ? expr::make_select(inside, v, expr::make_lowest(c.ctx(), x->dtype)) : v;
}

// The taps of a flat position in the window, row-major.
Index unflatten(const Pool& p, Dim flat) {
  std::vector<Dim> kernel = p.taps();
  Index r(kernel.size());
  for (size_t k = kernel.size(); k-- > 0;) {
    r[k] = k == 0 ? flat : expr::mod(flat, kernel[k]);
    flat = expr::floordiv(flat, kernel[k]);
  }
  return r;
}

Tensor positions(DefineContext& c, const Pool& p) {
  const Tensor& x = c.in(0);
  bool column_major = c.attr().as_bool("column_major");
  Tensor best = c.te().reduce("best", p.shape, {expr::product(c.ctx(), p.taps())}, te::Combiner::ArgMax,
                              [&](const Index& o, const Index& r) { return element(c, p, o, unflatten(p, r[0])); });
  return c.te().map("indices", p.shape, [&](const Index& o) {
    Index at = p.positions(o, unflatten(p, expr::value((*best)(o))));
    size_t n = at.size();
    Dim spatial = c.dim(0), area = c.dim(1);
    for (size_t j = 0; j < n; ++j) {
      size_t k = column_major ? n - 1 - j : j;
      spatial = spatial * p.window.axes[k].input + at[k];
      area = area * p.window.axes[k].input;
    }
    Dim channel = o[0] * x->shape[p.layout.channel_axis()] + o[p.layout.channel_axis()];
    return expr::make_index(channel * area + spatial);
  });
}

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kNumbers));
  Pool p = TRY(read_pool(c));
  std::vector<Tensor> out{c.te().reduce("y", p.shape, p.taps(), te::Combiner::Max,
                                        [&](const Index& o, const Index& r) { return element(c, p, o, r); })};
  if (c.output_count() > 1) {
    if (p.layout.channels_last) return c.fail("bad-attribute", "positions are given for NCHW only");
    out.push_back(positions(c, p));
  }
  return out;
}

}  // namespace

OpDef op_nn_max_pool() {
  return {.name = "nn.max_pool",
          .doc = "The largest element of each window; as a second output its flat position in the input.",
          .attrs = pool_attrs() +
                   std::vector<AttrSpec>{attr("column_major", false, "positions count the spatial axes in reverse")},
          .outputs = 2,
          .compute = compute,
          .samples = {"f32[B,2,H,W] B=2 H=5 W=6 kernel=[2,2] strides=[2,2]",
                      "f32[B,1,H,W] B=1 H=5 W=5 kernel=[3,3] pads=[1,1,1,1] outputs=2",
                      "f32[B,H,W,2] B=1 H=4 W=5 kernel=[3,2] layout=NHWC pads=[1,0,1,1] strides=[2,1]",
                      "f32[B,2,L] B=1 L=10 kernel=[3] strides=[2] ceil_mode=true",
                      "u8[B,1,H,W] B=1 H=4 W=4 kernel=[2,2] dilations=[2,2]",
                      "f16[B,1,D,H,W] B=1 D=3 H=3 W=3 kernel=[2,2,2] outputs=2 column_major=true",
                      "f32[B,1,H,W] B=1 H=5 W=4 kernel=[2,2] strides=[2,2] auto_pad=same_lower"}};
}

}  // namespace pliant::ops
