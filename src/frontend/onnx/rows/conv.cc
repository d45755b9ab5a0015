// Convolutions.
#include <algorithm>

#include "frontend/onnx/rows/direct.h"
#include "frontend/onnx/rows/window.h"

namespace pliant::frontend::onnx {

Result<Attrs> window_attrs(Conversion& c) {
  Attrs attrs;
  if (c.has_attr("strides")) attrs.set("strides", c.ints_attr("strides", {}));
  if (c.has_attr("dilations")) attrs.set("dilations", c.ints_attr("dilations", {}));
  if (c.has_attr("pads")) attrs.set("pads", c.ints_attr("pads", {}));
  std::string pad = c.string_attr("auto_pad", "NOTSET");
  if (pad == "NOTSET" || pad.empty()) return attrs;
  if (pad != "VALID" && pad != "SAME_UPPER" && pad != "SAME_LOWER") {
    return c.fail("wrong-attribute", "auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, not '" + pad + "'");
  }
  std::transform(pad.begin(), pad.end(), pad.begin(), [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
  attrs.set("auto_pad", pad);
  attrs.erase("pads");
  return attrs;
}

Status check_kernel_shape(Conversion& c, size_t weight) {
  if (!c.has_attr("kernel_shape")) return ok();
  std::vector<int64_t> kernel = c.ints_attr("kernel_shape", {});
  const graph::Shape& w = c.shape(weight);
  if (w.size() != kernel.size() + 2) {
    return c.fail("shape-mismatch",
                  "kernel_shape has " + std::to_string(kernel.size()) + " axes but the weight " + std::to_string(w.size()));
  }
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (w[i + 2].is_const() && !w[i + 2].is_const(kernel[i])) {
      return c.fail("shape-mismatch", "kernel_shape says " + std::to_string(kernel[i]) + " for axis " + std::to_string(i) +
                                          " but the weight has " + w[i + 2].str());
    }
  }
  return ok();
}

namespace {

Result<Values> conv(Conversion& c) {
  TRY(check_kernel_shape(c, 1));
  Attrs attrs = TRY(window_attrs(c));
  attrs.set("group", c.int_attr("group", 1));
  return Values{TRY(c.append("nn.conv", std::move(attrs), c.all_inputs()))};
}

Result<Values> conv_transpose(Conversion& c) {
  TRY(check_kernel_shape(c, 1));
  Attrs attrs = TRY(window_attrs(c));
  attrs.set("group", c.int_attr("group", 1));
  if (c.has_attr("output_padding")) attrs.set("output_padding", c.ints_attr("output_padding", {}));
  if (c.has_attr("output_shape")) {
    std::vector<int64_t> shape = c.ints_attr("output_shape", {});
    // Some models give the whole shape and not only its spatial part.
    if (static_cast<int64_t>(shape.size()) == c.rank(0)) shape.erase(shape.begin(), shape.begin() + 2);
    attrs.set("output_shape", shape);
  }
  return Values{TRY(c.append("nn.conv_transpose", std::move(attrs), c.all_inputs()))};
}

Result<Values> deform_conv(Conversion& c) {
  TRY(check_kernel_shape(c, 1));
  Attrs attrs = TRY(window_attrs(c));
  attrs.set("group", c.int_attr("group", 1));
  attrs.set("offset_group", c.int_attr("offset_group", 1));
  return Values{TRY(c.append("nn.deform_conv", std::move(attrs), c.all_inputs()))};
}

Result<Values> causal_conv(Conversion& c) {
  return c.append_multi("nn.causal_conv", Attrs{{"activation", c.string_attr("activation", "none")}}, c.all_inputs(), 2);
}

}  // namespace

Rows conv_rows() {
  return {
      {"Conv", 1, 2, &conv},
      {"ConvTranspose", 1, 2, &conv_transpose},
      {"DeformConv", 19, 3, &deform_conv},
      {"CausalConvWithState", 27, 2, &causal_conv},
  };
}

}  // namespace pliant::frontend::onnx
