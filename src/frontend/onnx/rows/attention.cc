// Attention and position embeddings.
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

Result<Values> attention(Conversion& c) {
  Attrs attrs{{"is_causal", c.bool_attr("is_causal", false)},
              {"q_num_heads", c.int_attr("q_num_heads", 0)},
              {"kv_num_heads", c.int_attr("kv_num_heads", 0)},
              {"softcap", c.float_attr("softcap", 0)},
              {"qk_matmul_output_mode", c.int_attr("qk_matmul_output_mode", 0)},
              {"left_window", c.int_attr("left_window_size", -1)},
              {"right_window", c.int_attr("right_window_size", -1)}};
  if (c.has_attr("scale")) attrs.set("scale", c.float_attr("scale", 0));
  if (c.has_attr("softmax_precision")) attrs.set("softmax_precision", TRY(c.dtype_attr("softmax_precision", DType::F32)));
  size_t outputs = c.output_count();
  while (outputs > 1 && !c.wants(outputs - 1)) --outputs;
  return c.append_multi("nn.attention", std::move(attrs), c.all_inputs(), outputs);
}

Result<Values> rotary_embedding(Conversion& c) {
  Attrs attrs{{"interleaved", c.bool_attr("interleaved", false)},
              {"num_heads", c.int_attr("num_heads", 0)},
              {"rotary_dim", c.int_attr("rotary_embedding_dim", 0)}};
  return Values{TRY(c.append("nn.rotary_embedding", std::move(attrs), c.all_inputs()))};
}

}  // namespace

Rows attention_rows() {
  return {
      {"Attention", 23, 3, &attention},
      {"RotaryEmbedding", 23, 3, &rotary_embedding},
  };
}

}  // namespace pliant::frontend::onnx
