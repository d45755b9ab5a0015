#include "ops/bodies/window/window.h"

namespace pliant::ops {

std::vector<Dim> Layout::make(Dim n, Dim channels, const std::vector<Dim>& spatial) const {
  std::vector<Dim> out{n};
  if (!channels_last) out.push_back(channels);
  out.insert(out.end(), spatial.begin(), spatial.end());
  if (channels_last) out.push_back(channels);
  return out;
}

Result<Layout> read_layout(DefineContext& c, size_t rank) {
  const std::string& name = c.attr().as_string("layout");
  if (name != "NCHW" && name != "NHWC") return c.fail("bad-attribute", "there is no layout '" + name + "'");
  if (rank < 3)
    return c.fail("shape-mismatch",
                  "the input needs batch, channels and a spatial axis but has rank " + std::to_string(rank));
  return Layout{rank, name == "NHWC"};
}

namespace {

constexpr int64_t kMostWholeTaps = 256;

bool is_far_larger(const WindowAxis& a) { return a.kernel.is_const() && a.kernel.const_value() > kMostWholeTaps; }

}  // namespace

Dim WindowAxis::taps() const { return is_far_larger(*this) ? expr::min(kernel, expr::ceildiv(input, dilation)) : kernel; }

Dim WindowAxis::first_tap(Dim o) const {
  const Dim zero = o->ctx->constant(0);
  return is_far_larger(*this) ? expr::max(zero, expr::ceildiv(-position(o, zero), dilation)) : zero;
}

std::vector<Dim> Window::output() const {
  std::vector<Dim> out;
  for (const WindowAxis& a : axes) out.push_back(a.output);
  return out;
}

std::vector<Dim> Window::kernel() const {
  std::vector<Dim> out;
  for (const WindowAxis& a : axes) out.push_back(a.kernel);
  return out;
}

Scalar Window::inside(const Index& at, expr::Context& ctx) const {
  Scalar good;
  auto require = [&](Scalar cond) { good = good ? expr::logical_and(good, cond) : cond; };
  for (size_t k = 0; k < axes.size(); ++k) {
    if (axes[k].may_start_before && !ctx.proves_less_equal(ctx.constant(0), at[k]))
      require(expr::less_equal(ctx.constant(0), at[k]));
    if (axes[k].may_end_after && !ctx.proves_less(at[k], axes[k].input)) require(expr::less(at[k], axes[k].input));
  }
  return good;
}

Result<std::vector<int64_t>> read_steps(DefineContext& c, const std::string& name, size_t count, int64_t most) {
  std::vector<int64_t> v = c.attr().as_ints(name);
  if (v.empty()) v.assign(count, 1);
  if (v.size() != count)
    return c.fail("bad-attribute",
                  name + " has " + std::to_string(v.size()) + " numbers for " + std::to_string(count) + " spatial axes");
  for (int64_t i : v) {
    if (i < 1) return c.fail("bad-attribute", name + " must be positive");
    if (i > most)
      return c.fail("bad-attribute", name + " must be at most " + std::to_string(most) + ", not " + std::to_string(i));
  }
  return v;
}

Status check_extents(DefineContext& c, const std::vector<Dim>& kernel, const std::vector<int64_t>& dilations,
                     const std::vector<Dim>& pads) {
  for (size_t k = 0; k < kernel.size(); ++k) {
    const bool fits =
        kernel[k].is_const() ? kernel[k].const_value() <= kMostExtent / dilations[k] : dilations[k] <= kMostFactor;
    if (!fits)
      return c.fail("bad-attribute", "a kernel of " + kernel[k].str() + " with the dilation " +
                                         std::to_string(dilations[k]) + " is too large");
  }
  for (Dim pad : pads)
    if (pad.is_const() && (pad.const_value() > kMostExtent || pad.const_value() < -kMostExtent))
      return c.fail("bad-attribute", "pads must be at most " + std::to_string(kMostExtent) + ", not " + pad.str());
  return ok();
}

namespace {

// Sizes and pads of one axis. `span` is the extent of the dilated kernel.
Status place(DefineContext& c, WindowAxis& a, const std::string& auto_pad, bool ceil_mode, Oversized oversized) {
  expr::Context& ctx = c.ctx();
  Dim zero = c.dim(0), span = (a.kernel - 1) * a.dilation + 1;
  if (auto_pad == "same_upper" || auto_pad == "same_lower") {
    a.output = expr::ceildiv(a.input, a.stride);
    Dim total = (a.output - 1) * a.stride + span - a.input;
    if (!ctx.proves_less_equal(zero, total)) total = expr::max(total, zero);
    Dim half = expr::floordiv(total, 2);
    a.pad_begin = auto_pad == "same_upper" ? half : total - half;
    a.pad_end = total - a.pad_begin;
  } else {
    Dim padded = a.input + a.pad_begin + a.pad_end;
    if (oversized == Oversized::Refused) TRY(c.require_less_equal(span, padded, "the kernel and the padded input"));
    if (ceil_mode && a.stride > 1) {
      // A window that would start behind the input and its first pad is dropped.
      Dim all = expr::ceildiv(padded - span, a.stride), starts_inside = expr::floordiv(a.input + a.pad_begin - 1, a.stride);
      a.output = (ctx.proves_less_equal(all, starts_inside) ? all : expr::min(all, starts_inside)) + 1;
    } else {
      a.output = expr::floordiv(padded - span, a.stride) + 1;
    }
    const bool is_size = oversized == Oversized::Refused || ctx.proves_less_equal(span, padded + a.stride);
    if (!is_size) a.output = expr::max(a.output, zero);
  }
  a.may_start_before = !ctx.proves_less_equal(a.pad_begin, zero);
  a.may_end_after = (ceil_mode && a.stride > 1) || !ctx.proves_less_equal(a.pad_end, zero);
  return ok();
}

}  // namespace

Result<Window> read_window(DefineContext& c, const std::vector<Dim>& input, const std::vector<Dim>& kernel,
                           Oversized oversized) {
  size_t n = input.size();
  AttrReader a = c.attr();
  if (kernel.size() != n)
    return c.fail("shape-mismatch",
                  "the kernel has " + std::to_string(kernel.size()) + " spatial axes but the input " + std::to_string(n));
  std::vector<int64_t> strides = TRY(read_steps(c, "strides", n)), dilations = TRY(read_steps(c, "dilations", n));
  std::vector<Dim> pads = a.as_dims("pads");
  const std::string& auto_pad = a.as_string("auto_pad");
  if (auto_pad != "notset" && auto_pad != "valid" && auto_pad != "same_upper" && auto_pad != "same_lower")
    return c.fail("bad-attribute", "there is no auto_pad '" + auto_pad + "'");
  if (pads.empty() || auto_pad != "notset") pads.assign(2 * n, c.dim(0));
  if (pads.size() != 2 * n)
    return c.fail("bad-attribute",
                  "pads have " + std::to_string(pads.size()) + " numbers for " + std::to_string(n) + " spatial axes");
  TRY(check_extents(c, kernel, dilations, pads));
  bool ceil_mode = a.has("ceil_mode") && a.as_bool("ceil_mode");
  Window w;
  for (size_t k = 0; k < n; ++k) {
    TRY(c.require_less_equal(c.dim(1), kernel[k], "the least size of a kernel and its size"));
    WindowAxis axis{input[k], {}, kernel[k], pads[k], pads[n + k], strides[k], dilations[k]};
    TRY(place(c, axis, auto_pad, ceil_mode, oversized));
    w.axes.push_back(std::move(axis));
  }
  return w;
}

std::vector<AttrSpec> window_attrs() {
  return {attr("strides", std::vector<int64_t>{}, "one a spatial axis; empty: all 1"),
          attr("dilations", std::vector<int64_t>{}, "empty: all 1"),
          attr("pads", std::vector<Dim>{}, "begins, then ends; empty: none"),
          attr("auto_pad", "notset", "notset, valid, same_upper or same_lower; all but notset ignore pads")};
}

}  // namespace pliant::ops
