// Pooling.
#include "frontend/onnx/rows/direct.h"
#include "frontend/onnx/rows/window.h"

namespace pliant::frontend::onnx {
namespace {

Result<Attrs> pool_attrs(Conversion& c) {
  Attrs attrs = TRY(window_attrs(c));
  attrs.set("kernel", c.ints_attr("kernel_shape", {}));
  if (c.has_attr("ceil_mode")) attrs.set("ceil_mode", c.bool_attr("ceil_mode", false));
  return attrs;
}

Result<Values> max_pool(Conversion& c) {
  Attrs attrs = TRY(pool_attrs(c));
  attrs.set("column_major", c.bool_attr("storage_order", false));
  return c.append_multi("nn.max_pool", std::move(attrs), {c.in(0)}, c.wants(1) ? 2 : 1);
}

Result<Values> average_pool(Conversion& c) {
  Attrs attrs = TRY(pool_attrs(c));
  attrs.set("count_include_pad", c.bool_attr("count_include_pad", false));
  return Values{TRY(c.append("nn.avg_pool", std::move(attrs), {c.in(0)}))};
}

Result<Values> lp_pool(Conversion& c) {
  Attrs attrs = TRY(pool_attrs(c));
  attrs.set("p", c.int_attr("p", 2));
  return Values{TRY(c.append("nn.lp_pool", std::move(attrs), {c.in(0)}))};
}

Result<Values> global_lp_pool(Conversion& c) {
  return Values{TRY(c.append("nn.global_lp_pool", Attrs{{"p", c.int_attr("p", 2)}}, {c.in(0)}))};
}

// Without an output shape, each axis is what the pool would have been made from. Positions count the elements of the output.
Result<Values> max_unpool(Conversion& c) {
  const graph::Shape& x = c.shape(0);
  if (c.has(2)) {
    std::vector<Dim> shape = TRY(c.dims(2, "the output shape", {.expected = c.rank(0)}));
    for (Dim d : shape) c.require_less_equal(c.num(0), d, "the output shape must not be negative, but one size is {b}");
    return Values{TRY(c.append("nn.max_unpool", Attrs{{"output_shape", shape}}, {c.in(0), c.in(1)}))};
  }
  std::vector<int64_t> kernel = c.ints_attr("kernel_shape", {});
  std::vector<int64_t> strides = c.ints_attr("strides", std::vector<int64_t>(kernel.size(), 1));
  std::vector<int64_t> pads = c.ints_attr("pads", std::vector<int64_t>(kernel.size() * 2, 0));
  if (x.size() != kernel.size() + 2 || strides.size() != kernel.size() || pads.size() != kernel.size() * 2) {
    return c.fail("shape-mismatch", "kernel_shape, strides and pads do not fit the rank of the input");
  }
  std::vector<Dim> pooled{x[0], x[1]};
  for (size_t i = 0; i < kernel.size(); ++i)
    pooled.push_back((x[i + 2] - 1) * strides[i] + (c.num(kernel[i]) - pads[i] - pads[kernel.size() + i]));
  return Values{TRY(c.append("nn.max_unpool", Attrs{{"output_shape", pooled}}, {c.in(0), c.in(1)}))};
}

Result<Values> max_roi_pool(Conversion& c) {
  Attrs attrs{{"pooled", c.ints_attr("pooled_shape", {})}, {"spatial_scale", c.float_attr("spatial_scale", 1)}};
  return Values{TRY(c.append("nn.max_roi_pool", std::move(attrs), c.all_inputs()))};
}

}  // namespace

Rows pool_rows() {
  return {
      {"MaxPool", 1, 1, &max_pool},
      {"AveragePool", 1, 1, &average_pool},
      {"LpPool", 2, 1, &lp_pool},
      {"GlobalAveragePool", 1, 1, &direct<"nn.global_avg_pool">},
      {"GlobalMaxPool", 1, 1, &direct<"nn.global_max_pool">},
      {"GlobalLpPool", 2, 1, &global_lp_pool},
      {"MaxUnpool", 9, 2, &max_unpool, shape_input(2)},
      {"MaxRoiPool", 1, 2, &max_roi_pool},
  };
}

}  // namespace pliant::frontend::onnx
