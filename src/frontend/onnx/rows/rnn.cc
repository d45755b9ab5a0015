// Recurrent layers.
#include "frontend/onnx/rows/direct.h"
#include "frontend/onnx/rows/hidden_size.h"

namespace pliant::frontend::onnx {
namespace {

Result<Attrs> rnn_attrs(Conversion& c) {
  Attrs attrs{{"direction", c.string_attr("direction", "forward")}, {"batch_major", c.bool_attr("layout", false)}};
  const bool named = c.has_attr("hidden_size") || c.rank(2) != 3;
  attrs.set("hidden", named ? TRY(hidden_size(c)) : c.shape(2)[2]);
  if (c.has_attr("activations")) attrs.set("activations", c.strings_attr("activations"));
  if (c.has_attr("activation_alpha")) attrs.set("alpha", c.floats_attr("activation_alpha", {}));
  if (c.has_attr("activation_beta")) attrs.set("beta", c.floats_attr("activation_beta", {}));
  if (c.has_attr("clip")) attrs.set("clip", c.float_attr("clip", 0));
  return attrs;
}

Result<Values> lstm(Conversion& c) {
  Attrs attrs = TRY(rnn_attrs(c));
  attrs.set("input_forget", c.bool_attr("input_forget", false));
  return c.append_multi("nn.lstm", std::move(attrs), c.all_inputs(), 3);
}

Result<Values> gru(Conversion& c) {
  Attrs attrs = TRY(rnn_attrs(c));
  attrs.set("linear_before_reset", c.bool_attr("linear_before_reset", false));
  return c.append_multi("nn.gru", std::move(attrs), c.all_inputs(), 2);
}

Result<Values> rnn(Conversion& c) {
  Attrs attrs = TRY(rnn_attrs(c));
  return c.append_multi("nn.rnn", std::move(attrs), c.all_inputs(), 2);
}

}  // namespace

Rows rnn_rows() {
  return {
      {"LSTM", 7, 3, &lstm},
      {"GRU", 7, 3, &gru},
      {"RNN", 7, 3, &rnn},
  };
}

}  // namespace pliant::frontend::onnx
