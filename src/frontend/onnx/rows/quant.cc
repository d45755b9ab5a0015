// Quantisation.
#include "frontend/onnx/rows/direct.h"
#include "frontend/onnx/rows/window.h"

namespace pliant::frontend::onnx {
namespace {

// A scale of shape [1] counts as one for the whole tensor.
Result<Values> quant_inputs(Conversion& c) {
  Values inputs = {c.in(0)};
  for (size_t i = 1; i < c.input_count(); ++i) {
    ValueId v = c.in(i);
    if (c.has(i) && c.rank(1) == 1 && c.shape(1)[0].is_const(1)) v = TRY(c.reshape(v, {}));
    inputs.push_back(v);
  }
  return inputs;
}

Attrs blocking(Conversion& c) {
  Attrs attrs{{"axis", c.int_attr("axis", 1)}};
  if (c.has_attr("block_size")) attrs.set("block_size", c.int_attr("block_size", 0));
  return attrs;
}

Result<Values> quantize(Conversion& c) {
  Attrs attrs = blocking(c);
  if (!c.has(2) && c.int_attr("output_dtype", 0) != 0) attrs.set("to", TRY(c.dtype_attr("output_dtype", DType::U8)));
  if (c.int_attr("precision", 0) != 0) attrs.set("precision", TRY(c.dtype_attr("precision", DType::F32)));
  Values inputs = TRY(quant_inputs(c));
  return Values{TRY(c.append("quant.quantize", std::move(attrs), inputs))};
}

Result<Values> dequantize(Conversion& c) {
  Attrs attrs = blocking(c);
  if (c.int_attr("output_dtype", 0) != 0) attrs.set("to", TRY(c.dtype_attr("output_dtype", DType::F32)));
  Values inputs = TRY(quant_inputs(c));
  return Values{TRY(c.append("quant.dequantize", std::move(attrs), inputs))};
}

Result<Values> dynamic_quantize(Conversion& c) { return c.append_multi("quant.dynamic_quantize", {}, {c.in(0)}, 3); }

template <OpName op>
Result<Values> integer_conv(Conversion& c, size_t weight) {
  TRY(check_kernel_shape(c, weight));
  Attrs attrs = TRY(window_attrs(c));
  attrs.set("group", c.int_attr("group", 1));
  return Values{TRY(c.append(op.text, std::move(attrs), c.all_inputs()))};
}

Result<Values> conv_integer(Conversion& c) { return integer_conv<"quant.conv_integer">(c, 1); }
Result<Values> qlinear_conv(Conversion& c) { return integer_conv<"quant.qlinear_conv">(c, 3); }

}  // namespace

Rows quant_rows() {
  return {
      {"QuantizeLinear", 10, 2, &quantize},
      {"DequantizeLinear", 10, 2, &dequantize},
      {"DynamicQuantizeLinear", 11, 1, &dynamic_quantize},
      {"MatMulInteger", 10, 2, &direct<"quant.matmul_integer">},
      {"ConvInteger", 10, 2, &conv_integer},
      {"QLinearMatMul", 10, 8, &direct<"quant.qlinear_matmul">},
      {"QLinearConv", 10, 8, &qlinear_conv},
  };
}

}  // namespace pliant::frontend::onnx
