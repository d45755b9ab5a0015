// Activations and softmax.
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

// A unary operator with the float attributes alpha, or alpha and beta or gamma, under the same names and with ONNX's
// defaults.
Result<Values> with_floats(Conversion& c, const char* op, std::initializer_list<std::pair<const char*, double>> floats) {
  Attrs attrs;
  for (const auto& [name, fallback] : floats) attrs.set(name, c.float_attr(name, fallback));
  return Values{TRY(c.append(op, std::move(attrs), {c.in(0)}))};
}

Result<Values> elu(Conversion& c) { return with_floats(c, "nn.elu", {{"alpha", 1}}); }
Result<Values> celu(Conversion& c) { return with_floats(c, "nn.celu", {{"alpha", 1}}); }
Result<Values> selu(Conversion& c) {
  return with_floats(c, "nn.selu", {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}});
}
Result<Values> leaky_relu(Conversion& c) { return with_floats(c, "nn.leaky_relu", {{"alpha", static_cast<double>(0.01f)}}); }
Result<Values> hard_sigmoid(Conversion& c) {
  return with_floats(c, "nn.hard_sigmoid", {{"alpha", static_cast<double>(0.2f)}, {"beta", 0.5}});
}
Result<Values> thresholded_relu(Conversion& c) { return with_floats(c, "nn.thresholded_relu", {{"alpha", 1}}); }
Result<Values> binarize(Conversion& c) { return with_floats(c, "math.binarize", {{"threshold", 0}}); }
Result<Values> shrink(Conversion& c) { return with_floats(c, "nn.shrink", {{"bias", 0}, {"lambd", 0.5}}); }
Result<Values> swish(Conversion& c) { return with_floats(c, "nn.silu", {{"alpha", 1}}); }

Result<Values> gelu(Conversion& c) {
  return Values{TRY(c.append("nn.gelu", Attrs{{"approximate", c.string_attr("approximate", "none")}}, {c.in(0)}))};
}

Result<Values> swiglu(Conversion& c) {
  ValueId gate = TRY(c.append("nn.silu", Attrs{{"alpha", c.float_attr("alpha", 1)}}, {c.in(0)}));
  return Values{TRY(c.append("math.mul", {}, {gate, c.in(1)}))};
}

template <OpName op>
Result<Values> along_axis(Conversion& c) {
  return Values{TRY(c.append(op.text, Attrs{{"axis", c.int_attr("axis", -1)}}, {c.in(0)}))};
}

// Before opset 13 the axes from `axis` on were one axis.
template <OpName op>
Result<Values> along_flattened(Conversion& c) {
  int64_t rank = c.rank(0);
  int64_t axis = c.int_attr("axis", 1);
  if (axis != rank) axis = TRY(c.axis(axis, rank));
  if (axis == rank - 1) return Values{TRY(c.append(op.text, Attrs{{"axis", int64_t{-1}}}, {c.in(0)}))};
  const graph::Shape shape = c.shape(0);
  graph::Shape outer(shape.begin(), shape.begin() + axis), inner(shape.begin() + axis, shape.end());
  ValueId flat = TRY(c.reshape(c.in(0), {c.count(outer), c.count(inner)}));
  ValueId out = TRY(c.append(op.text, Attrs{{"axis", int64_t{-1}}}, {flat}));
  return Values{TRY(c.reshape(out, shape))};
}

}  // namespace

Rows activation_rows() {
  return {
      {"Relu", 6, 1, &direct<"nn.relu">},
      {"Elu", 6, 1, &elu},
      {"Celu", 12, 1, &celu},
      {"Selu", 6, 1, &selu},
      {"LeakyRelu", 6, 1, &leaky_relu},
      {"PRelu", 7, 2, &direct<"nn.prelu">},
      {"HardSigmoid", 6, 1, &hard_sigmoid},
      {"HardSwish", 14, 1, &direct<"nn.hard_swish">},
      {"Gelu", 20, 1, &gelu},
      {"Mish", 18, 1, &direct<"nn.mish">},
      {"Softplus", 1, 1, &direct<"nn.softplus">},
      {"Softsign", 1, 1, &direct<"nn.softsign">},
      {"ThresholdedRelu", 10, 1, &thresholded_relu},
      {"Shrink", 9, 1, &shrink},
      {"ai.onnx.ml.Binarizer", 1, 1, &binarize},
      {"Swish", 24, 1, &swish},
      {"SwiGLU", 28, 2, &swiglu},
      {"Softmax", 1, 1, &along_flattened<"nn.softmax">},
      {"Softmax", 13, 1, &along_axis<"nn.softmax">},
      {"LogSoftmax", 1, 1, &along_flattened<"nn.log_softmax">},
      {"LogSoftmax", 13, 1, &along_axis<"nn.log_softmax">},
      {"Hardmax", 1, 1, &along_flattened<"nn.hardmax">},
      {"Hardmax", 13, 1, &along_axis<"nn.hardmax">},
  };
}

}  // namespace pliant::frontend::onnx
