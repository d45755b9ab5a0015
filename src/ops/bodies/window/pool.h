// What pooling operators share: the window over the input and the element that a tap reads.
#pragma once
#include "ops/bodies/window/window.h"

namespace pliant::ops {

struct Pool {
  Layout layout;
  Window window;
  std::vector<Dim> shape;  // of the output
  // What a reduction goes over for each output, one an axis.
  std::vector<Dim> taps() const;
  // The input's index for output `o` and taps `r`, and whether it is inside (null: always).
  Index index(const Index& o, const Index& r) const;
  Index positions(const Index& o, const Index& r) const;
  Scalar inside(const Index& o, const Index& r, expr::Context& ctx) const;
};
Result<Pool> read_pool(DefineContext& c);
// Counts the taps of output `o` that lie in the input, or in the input and its declared pads.
Dim tap_count(const Pool& p, const Index& o, bool with_pads, expr::Context& ctx);

std::vector<AttrSpec> pool_attrs();  // kernel, window, ceil_mode, layout

// `nn.global_*`: a window that covers the spatial axes. Gives their numbers.
Result<std::vector<int64_t>> spatial_axes(DefineContext& c);

}  // namespace pliant::ops
