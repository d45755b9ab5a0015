// Sliding windows of convolutions and pools: attributes, output sizes, and which input element a tap reads.
#pragma once
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

// Where batch, channels and spatial axes of activations stand.
struct Layout {
  size_t rank = 0;
  bool channels_last = false;
  size_t channel_axis() const { return channels_last ? rank - 1 : 1; }
  size_t spatial_axis(size_t k) const { return channels_last ? 1 + k : 2 + k; }
  size_t spatial_rank() const { return rank - 2; }
  std::vector<Dim> make(Dim n, Dim channels, const std::vector<Dim>& spatial) const;
};
// Reads the attribute `layout`; the rank must be at least 3.
Result<Layout> read_layout(DefineContext& c, size_t rank);

// One spatial axis of a window.
struct WindowAxis {
  Dim input, output, kernel;
  Dim pad_begin, pad_end;
  int64_t stride = 1, dilation = 1;
  bool may_start_before = false;  // taps may lie before the input
  bool may_end_after = false;     // taps may lie behind it
  // The taps of a pool that a sum has to look at, and the first of them: all, or of a window far larger than many inputs as
  // many as the input has places for. Not all of them have to be in the kernel.
  Dim taps() const;
  Dim first_tap(Dim o) const;
  // The input position of tap `k` at output position `o`; outside [0, input) in the padding.
  Dim position(Dim o, Dim k) const { return o * stride + k * dilation - pad_begin; }
};
struct Window {
  std::vector<WindowAxis> axes;
  std::vector<Dim> output() const;
  std::vector<Dim> kernel() const;
  // Whether the taps at `at` (one position an axis) are inside the input; null when they always are.
  Scalar inside(const Index& at, expr::Context& ctx) const;
};
// What a window larger than the padded input is: an error, as convolutions have it, or no output.
enum class Oversized : uint8_t { Refused, Empty };
// What positions in windows may be, so that they fit into 64 bits whatever the input.
inline constexpr int64_t kMostExtent = int64_t{1} << 60;
// The most for what multiplies a size that only a run knows.
inline constexpr int64_t kMostFactor = int64_t{1} << 31;
// The attribute `name`: a number from 1 to `most` for each of `count` spatial axes; empty: all 1.
Result<std::vector<int64_t>> read_steps(DefineContext& c, const std::string& name, size_t count, int64_t most = kMostExtent);
// That pads that are known and what dilated kernels cover are at most kMostExtent.
Status check_extents(DefineContext& c, const std::vector<Dim>& kernel, const std::vector<int64_t>& dilations,
                     const std::vector<Dim>& pads);
// strides, dilations, pads, auto_pad, and ceil_mode where the operator has it. `kernel` may be symbolic.
Result<Window> read_window(DefineContext& c, const std::vector<Dim>& input, const std::vector<Dim>& kernel,
                           Oversized oversized = Oversized::Refused);

std::vector<AttrSpec> window_attrs();
inline AttrSpec layout_attr() {
  return attr("layout", "NCHW", "where the channels of activations stand: NCHW (second) or NHWC (last)");
}

}  // namespace pliant::ops
