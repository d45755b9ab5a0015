// What the operators' definitions ask of a node before any shape is looked at: the attributes that it must have, and how
// many inputs it may have. What is checked elsewhere because it needs a reading of its own (the graphs of If, Loop, Scan and
// SequenceMap, the value of Constant) is not listed.
#include "frontend/onnx/table.h"

namespace pliant::frontend::onnx {
namespace {

struct Required {
  std::string_view op, attribute;
  int64_t before = INT64_MAX;  // from this opset on it is an input, or optional
};

constexpr Required kRequired[] = {
    {"AveragePool", "kernel_shape"},
    {"BitCast", "to"},
    {"BitShift", "direction"},
    {"Cast", "to"},
    {"Concat", "axis"},
    {"ConcatFromSequence", "axis"},
    {"DepthToSpace", "blocksize"},
    {"Einsum", "equation"},
    {"GroupNormalization", "num_groups"},
    {"LRN", "size"},
    {"LpPool", "kernel_shape"},
    {"MaxPool", "kernel_shape"},
    {"MaxRoiPool", "pooled_shape"},
    {"MaxUnpool", "kernel_shape"},
    {"Pad", "pads", 11},
    {"RandomNormal", "shape"},
    {"RandomUniform", "shape"},
    {"Slice", "ends", 10},
    {"Slice", "starts", 10},
    {"SpaceToDepth", "blocksize"},
    {"TopK", "k", 10},
    {"Unsqueeze", "axes", 13},
    {"Upsample", "scales", 9},
};

// The most inputs of an operator in any opset; operators of any number of inputs are not listed.
struct Most {
  size_t inputs;
  std::string_view ops;  // each with a space on both sides
};

constexpr Most kMost[] = {
    {0, " RandomNormal RandomUniform SequenceEmpty "},
    {1,
     " Abs Acos Acosh ArgMax ArgMin Asin Asinh Atan Atanh AveragePool Bernoulli BitCast BitwiseNot BlackmanWindow "
     "Cast Ceil Celu ConcatFromSequence ConstantOfShape Cos Cosh DepthToSpace Det DynamicQuantizeLinear Elu Erf "
     "Exp EyeLike Flatten Floor Gelu GlobalAveragePool GlobalLpPool GlobalMaxPool HammingWindow HannWindow "
     "HardSigmoid HardSwish Hardmax Identity IsInf IsNaN LRN LeakyRelu Log LogSoftmax LpNormalization LpPool "
     "MaxPool MeanVarianceNormalization Mish Neg NonZero Not OptionalGetElement OptionalHasElement "
     "RandomNormalLike RandomUniformLike Reciprocal Relu Round Selu SequenceLength Shape Shrink Sigmoid Sign Sin "
     "Sinh Size Softmax Softplus Softsign SpaceToDepth Sqrt Swish Tan Tanh ThresholdedRelu Transpose Unique "},
    {2,
     " Add AffineGrid And BitShift BitwiseAnd BitwiseOr BitwiseXor CastLike CenterCropPad Compress CumProd CumSum "
     "Div Equal Expand Gather GatherElements GatherND Greater GreaterOrEqual GridSample Less LessOrEqual MatMul "
     "MaxRoiPool Mod Mul Or PRelu Pow RMSNormalization ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax "
     "ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape ReverseSequence SequenceAt SequenceErase "
     "Split SplitToSequence Squeeze Sub SwiGLU TopK Trilu Unsqueeze Upsample Xor "},
    {3,
     " Clip Col2Im Conv ConvTranspose DFT DequantizeLinear Dropout Gemm GroupNormalization InstanceNormalization "
     "LayerNormalization MaxUnpool NegativeLogLikelihoodLoss OneHot QuantizeLinear Range RoiAlign Scatter "
     "ScatterElements ScatterND SequenceInsert SoftmaxCrossEntropyLoss TensorScatter Tile Where "},
    {4, " CausalConvWithState ConvInteger MatMulInteger Pad Resize RotaryEmbedding STFT "},
    {5, " BatchNormalization DeformConv MelWeightMatrix NonMaxSuppression Slice "},
    {6, " GRU RNN "},
    {7, " Attention "},
    {8, " LSTM QLinearMatMul "},
    {9, " QLinearConv "},
};

// Operators of any number of inputs, none of which may be left out.
constexpr std::string_view kAny = " Concat Einsum Max Mean Min SequenceConstruct Sum ";

bool is_among(const Conversion& c, std::string_view ops) {
  return ops.find(" " + std::string(c.node.op_type) + " ") != std::string_view::npos;
}

std::optional<std::string_view> missing_attribute(const Conversion& c) {
  for (const Required& r : kRequired)
    if (r.op == c.node.op_type && c.opset < r.before && c.attr(r.attribute) == nullptr) return r.attribute;
  return std::nullopt;
}

std::optional<size_t> most_inputs(const Conversion& c) {
  for (const Most& m : kMost)
    if (is_among(c, m.ops)) return m.inputs;
  return std::nullopt;
}

}  // namespace

Status check_signature(const Row& row, const Conversion& c) {
  for (size_t i = 0; i < row.required_inputs; ++i) {
    if (c.has(i)) continue;
    return c.fail("missing-input",
                  "input " + std::to_string(i) + " is missing; the operator needs " + std::to_string(row.required_inputs));
  }
  if (!c.node.domain.empty()) return ok();
  if (is_among(c, kAny))
    for (size_t i = 0; i < c.input_count(); ++i)
      if (!c.has(i)) return c.fail("missing-input", "input " + std::to_string(i) + " is missing; none may be left out");
  size_t given = c.input_count();
  while (given > 0 && !c.has(given - 1)) --given;
  if (auto most = most_inputs(c); most && given > *most)
    return c.fail("input-count",
                  "it has " + std::to_string(given) + " inputs; the operator takes at most " + std::to_string(*most));
  if (auto attribute = missing_attribute(c))
    return c.fail("missing-attribute", "attribute '" + std::string(*attribute) + "' is missing");
  return ok();
}

}  // namespace pliant::frontend::onnx
