// Operators of onnxruntime's own domain, which its optimiser and quantiser leave in models. Semantics: onnxruntime's
// ContribOperators.md.
#include <numeric>

#include "frontend/onnx/rows/direct.h"
#include "frontend/onnx/rows/hidden_size.h"

namespace pliant::frontend::onnx {
namespace {

Result<ValueId> binary(Conversion& c, const std::string& op, ValueId a, ValueId b) {
  return c.append("math." + op, {}, {a, b});
}

template <OpName approximate>
Result<Values> biased_gelu(Conversion& c) {
  ValueId x = c.has(1) ? TRY(binary(c, "add", c.in(0), c.in(1))) : c.in(0);
  return Values{TRY(c.append("nn.gelu", Attrs{{"approximate", approximate.text}}, {x}))};
}

Result<Values> quick_gelu(Conversion& c) {
  return Values{TRY(c.append("nn.silu", Attrs{{"alpha", c.float_attr("alpha", static_cast<double>(1.702f))}}, {c.in(0)}))};
}

// The first axis moved before the last: [m, batch…, k] as [batch…, m, k].
Result<ValueId> with_batch_first(Conversion& c, ValueId v) {
  std::vector<int64_t> perm(c.shape_of(v).size());
  std::iota(perm.begin(), perm.end(), 1);
  perm[perm.size() - 2] = 0;
  perm.back() = static_cast<int64_t>(perm.size()) - 1;
  return c.append("array.transpose", Attrs{{"perm", perm}}, {v});
}

Result<Values> fused_matmul(Conversion& c) {
  ValueId operands[2] = {c.in(0), c.in(1)};
  const char* moved[2] = {"transBatchA", "transBatchB"};
  for (size_t i = 0; i < 2; ++i) {
    if (!c.bool_attr(moved[i], false)) continue;
    if (c.rank(i) < 3) return c.fail("bad-attribute", std::string(moved[i]) + " needs an operand of rank 3 or more");
    operands[i] = TRY(with_batch_first(c, operands[i]));
  }
  Attrs attrs{{"transpose_a", c.bool_attr("transA", false)}, {"transpose_b", c.bool_attr("transB", false)}};
  ValueId product = TRY(c.append("nn.matmul", std::move(attrs), {operands[0], operands[1]}));
  const double alpha = c.float_attr("alpha", 1);
  if (alpha == 1) return Values{product};
  return Values{TRY(binary(c, "mul", product, c.scalar(c.dtype(0), alpha)))};
}

// The sum of input, skip and bias, and its normalisation. The skip may lack the batch.
Result<ValueId> skipped_sum(Conversion& c, size_t bias) {
  ValueId sum = TRY(binary(c, "add", c.in(0), c.in(1)));
  return c.has(bias) ? binary(c, "add", sum, c.in(bias)) : Result<ValueId>(sum);
}

// Inputs: input, skip, gamma, beta?, bias?; outputs: y, mean?, inv_std_var?, sum?.
Result<Values> skip_layer_norm(Conversion& c) {
  ValueId sum = TRY(skipped_sum(c, 4));
  Attrs attrs{{"axis", int64_t{-1}}, {"epsilon", c.float_attr("epsilon", static_cast<double>(1e-12f))}};
  Values inputs{sum, c.in(2)};
  if (c.has(3)) inputs.push_back(c.in(3));
  Values out = TRY(c.append_multi("nn.layer_norm", std::move(attrs), inputs, c.wants(1) || c.wants(2) ? 3 : 1));
  out.resize(3, kNoValue);
  out.push_back(sum);
  out.resize(c.output_count());
  return out;
}

// Inputs: input, skip, gamma, bias?; outputs: y, mean? (never given), inv_std_var? (never given), sum?.
Result<Values> skip_rms_norm(Conversion& c) {
  if (c.wants(1) || c.wants(2))
    return c.fail("unsupported-output", "its statistics are asked for, which inference does not give");
  ValueId sum = TRY(skipped_sum(c, 3));
  Attrs attrs{{"axis", int64_t{-1}}, {"epsilon", c.float_attr("epsilon", static_cast<double>(1e-12f))}};
  Values out{TRY(c.append("nn.rms_norm", std::move(attrs), {sum, c.in(2)})), kNoValue, kNoValue, sum};
  out.resize(c.output_count());
  return out;
}

Result<Values> simplified_layer_norm(Conversion& c) {
  if (c.wants(1)) return c.fail("unsupported-output", "its statistics are asked for, which inference does not give");
  Attrs attrs{{"axis", c.int_attr("axis", -1)}, {"epsilon", c.float_attr("epsilon", static_cast<double>(1e-5f))}};
  return Values{TRY(c.append("nn.rms_norm", std::move(attrs), {c.in(0), c.in(1)}))};
}

// Inputs: X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P?, then scale and zero point of W and of R.
Result<Values> dynamic_quantize_lstm(Conversion& c) {
  for (size_t i : {size_t{8}, size_t{10}})
    if (!c.has(i)) return c.fail("missing-input", "input " + std::to_string(i) + ", the scale of weights, is missing");
  Attrs attrs{{"direction", c.string_attr("direction", "forward")},
              {"hidden", TRY(hidden_size(c))},
              {"input_forget", c.bool_attr("input_forget", false)}};
  if (c.has_attr("activations")) attrs.set("activations", c.strings_attr("activations"));
  if (c.has_attr("activation_alpha")) attrs.set("alpha", c.floats_attr("activation_alpha", {}));
  if (c.has_attr("activation_beta")) attrs.set("beta", c.floats_attr("activation_beta", {}));
  if (c.has_attr("clip")) attrs.set("clip", c.float_attr("clip", 0));
  return c.append_multi("nn.lstm", std::move(attrs), c.all_inputs(), 3);
}

}  // namespace

Rows microsoft_rows() {
  return {
      {"com.microsoft.Gelu", 1, 1, &biased_gelu<"none">},
      {"com.microsoft.BiasGelu", 1, 2, &biased_gelu<"none">},
      {"com.microsoft.FastGelu", 1, 1, &biased_gelu<"tanh">},
      {"com.microsoft.QuickGelu", 1, 1, &quick_gelu},
      {"com.microsoft.FusedMatMul", 1, 2, &fused_matmul},
      {"com.microsoft.SkipLayerNormalization", 1, 3, &skip_layer_norm},
      {"com.microsoft.SkipSimplifiedLayerNormalization", 1, 3, &skip_rms_norm},
      {"com.microsoft.DynamicQuantizeLSTM", 1, 3, &dynamic_quantize_lstm},
      {"SimplifiedLayerNormalization", 1, 2, &simplified_layer_norm},
  };
}

}  // namespace pliant::frontend::onnx
