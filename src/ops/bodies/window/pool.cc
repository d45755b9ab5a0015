#include "ops/bodies/window/pool.h"

namespace pliant::ops {

std::vector<Dim> Pool::taps() const {
  std::vector<Dim> out;
  for (const WindowAxis& a : window.axes) out.push_back(a.taps());
  return out;
}

Index Pool::positions(const Index& o, const Index& r) const {
  Index at;
  for (size_t k = 0; k < window.axes.size(); ++k) {
    const WindowAxis& a = window.axes[k];
    const Dim output = o[layout.spatial_axis(k)];
    at.push_back(a.position(output, a.first_tap(output) + r[k]));
  }
  return at;
}

Scalar Pool::inside(const Index& o, const Index& r, expr::Context& ctx) const {
  Scalar good = window.inside(positions(o, r), ctx);
  for (size_t k = 0; k < window.axes.size(); ++k) {
    const WindowAxis& a = window.axes[k];
    if (a.taps() == a.kernel) continue;
    Scalar in_kernel = expr::less(a.first_tap(o[layout.spatial_axis(k)]) + r[k], a.kernel);
    good = good ? expr::logical_and(good, in_kernel) : in_kernel;
  }
  return good;
}

Index Pool::index(const Index& o, const Index& r) const {
  return layout.make(o[0], o[layout.channel_axis()], positions(o, r));
}

Result<Pool> read_pool(DefineContext& c) {
  const Tensor& x = c.in(0);
  Pool p;
  p.layout = TRY(read_layout(c, x->rank()));
  std::vector<Dim> spatial, kernel;
  for (size_t k = 0; k < p.layout.spatial_rank(); ++k) spatial.push_back(x->shape[p.layout.spatial_axis(k)]);
  for (int64_t k : c.attr().as_ints("kernel")) kernel.push_back(c.dim(k));
  p.window = TRY(read_window(c, spatial, kernel, Oversized::Empty));
  p.shape = p.layout.make(x->shape[0], x->shape[p.layout.channel_axis()], p.window.output());
  return p;
}

Dim tap_count(const Pool& p, const Index& o, bool with_pads, expr::Context& ctx) {
  Dim count = ctx.constant(1);
  for (size_t k = 0; k < p.window.axes.size(); ++k) {
    const WindowAxis& a = p.window.axes[k];
    Dim start = a.position(o[p.layout.spatial_axis(k)], ctx.constant(0)), first = ctx.constant(0), end = a.kernel;
    Dim limit = with_pads ? a.input + a.pad_end : a.input;
    if (a.may_end_after) end = expr::min(end, expr::ceildiv(limit - start, a.dilation));
    if (!with_pads && a.may_start_before) first = expr::max(first, expr::ceildiv(-start, a.dilation));
    count = count * (end - first);
  }
  return count;
}

std::vector<AttrSpec> pool_attrs() {
  return std::vector<AttrSpec>{required_attr("kernel", AttrKind::Ints, "the window's size along each spatial axis"),
                               attr("ceil_mode", false, "the last window may be partly outside"), layout_attr()} +
         window_attrs();
}

Result<std::vector<int64_t>> spatial_axes(DefineContext& c) {
  Layout layout = TRY(read_layout(c, c.in(0)->rank()));
  std::vector<int64_t> axes;
  for (size_t k = 0; k < layout.spatial_rank(); ++k) axes.push_back(static_cast<int64_t>(layout.spatial_axis(k)));
  return axes;
}

}  // namespace pliant::ops
