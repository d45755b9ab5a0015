#include "frontend/onnx/data_axes.h"

namespace pliant::frontend::onnx {
namespace {

// 1 where a == b, else 0.
Dim equals(Conversion& c, Dim a, int64_t b) { return expr::max(1 - expr::max(a - b, b - a), c.num(0)); }

}  // namespace

Result<std::vector<Dim>> data_axes(Conversion& c, size_t i, const std::string& what) {
  constexpr size_t kMost = 6;
  std::vector<Dim> out = TRY(c.dims(i, what));
  if (out.size() > kMost || c.rank(0) > static_cast<int64_t>(kMost)) {
    return c.fail("not-constant",
                  what + " ('" + c.value(i).name + "') must be constant for more than " + std::to_string(kMost) + " axes");
  }
  return out;
}

std::vector<Dim> axis_masks(Conversion& c, const std::vector<Dim>& axes, size_t rank) {
  int64_t n = static_cast<int64_t>(rank);
  std::vector<Dim> masks;
  for (int64_t k = 0; k < n; ++k) {
    Dim mask = c.num(0);
    for (Dim a : axes) mask = mask + equals(c, a, k) + equals(c, a, k - n);
    masks.push_back(mask);
  }
  return masks;
}

graph::Shape spread_sizes(Conversion& c, const graph::Shape& shape, const std::vector<Dim>& masks) {
  graph::Shape out;
  Dim before = c.num(0);  // sizes that stand before axis k
  for (Dim mask : masks) {
    Dim size = c.num(0);
    for (size_t i = 0; i < shape.size(); ++i) size = size + equals(c, before, static_cast<int64_t>(i)) * shape[i];
    out.push_back(mask + (1 - mask) * size);
    before = before + 1 - mask;
  }
  return out;
}

graph::Shape gather_sizes(Conversion& c, const graph::Shape& shape, const std::vector<Dim>& masks, size_t left) {
  graph::Shape out(left, c.num(0));
  Dim before = c.num(0);
  for (size_t k = 0; k < shape.size(); ++k) {
    for (size_t j = 0; j < left; ++j)
      out[j] = out[j] + equals(c, before, static_cast<int64_t>(j)) * (1 - masks[k]) * shape[k];
    before = before + 1 - masks[k];
  }
  return out;
}

}  // namespace pliant::frontend::onnx
