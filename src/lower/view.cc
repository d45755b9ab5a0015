#include "lower/view.h"

#include "ops/control/carried.h"

namespace pliant::lower {

std::optional<View> view_of(const graph::Node& n, const graph::Function& f, expr::Context& ctx) {
  if (ops::is_whole_view(n)) return View{ctx.constant(0)};
  if (n.op != "array.slice") return std::nullopt;
  const graph::TensorType& in = f.tensor_type(n.inputs[0]);
  const graph::TensorType& out = f.tensor_type(n.outputs[0]);
  std::vector<Dim> starts = ops::attrs_of(n).as_dims("starts");
  std::vector<int64_t> axes = ops::attrs_of(n).as_ints("axes"), steps = ops::attrs_of(n).as_ints("steps");
  steps.resize(axes.size(), 1);
  auto rank = static_cast<int64_t>(in.shape.size());
  // Only one axis is cut, and everything before it has size 1.
  std::optional<size_t> cut;
  for (size_t i = 0; i < in.shape.size(); ++i) {
    if (in.shape[i] == out.shape[i]) continue;
    if (cut) return std::nullopt;
    cut = i;
  }
  if (!cut) {
    for (int64_t s : steps)
      if (s != 1) return std::nullopt;
    return View{ctx.constant(0)};
  }
  for (size_t i = 0; i < *cut; ++i)
    if (!in.shape[i].is_const(1)) return std::nullopt;
  for (size_t k = 0; k < axes.size(); ++k) {
    if (steps[k] != 1) return std::nullopt;
    auto axis = static_cast<size_t>(axes[k] < 0 ? axes[k] + rank : axes[k]);
    if (axis != *cut) continue;
    Dim start = starts[k], size = in.shape[axis];
    if (start.is_const() && start.const_value() < 0) start = start + size;
    // A start that may have to be clamped is left to a copy.
    if (!ctx.proves_less_equal(ctx.constant(0), start) || !ctx.proves_less_equal(start + out.shape[axis], size))
      return std::nullopt;
    Dim inner = ctx.constant(byte_size(in.dtype));
    for (size_t i = axis + 1; i < in.shape.size(); ++i) inner = inner * in.shape[i];
    return View{start * inner};
  }
  return std::nullopt;
}

graph::ConstantPtr with_shape(const graph::ConstantPtr& c, const graph::TensorType& t) {
  auto out = std::make_shared<graph::ConstantData>(*c);
  out->shape.clear();
  for (Dim d : t.shape) {
    if (!d.is_const()) return nullptr;
    out->shape.push_back(d.const_value());
  }
  return out;
}

}  // namespace pliant::lower
