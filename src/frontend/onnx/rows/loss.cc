// Losses.
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

Attrs loss_attrs(Conversion& c) {
  Attrs attrs{{"reduction", c.string_attr("reduction", "mean")}};
  if (c.has_attr("ignore_index")) attrs.set("ignore_index", c.int_attr("ignore_index", 0));
  return attrs;
}

Result<Values> nll_loss(Conversion& c) { return Values{TRY(c.append("nn.nll_loss", loss_attrs(c), c.all_inputs()))}; }

Result<Values> softmax_cross_entropy(Conversion& c) {
  return c.append_multi("nn.softmax_cross_entropy", loss_attrs(c), c.all_inputs(), c.wants(1) ? 2 : 1);
}

}  // namespace

Rows loss_rows() {
  return {
      {"NegativeLogLikelihoodLoss", 12, 2, &nll_loss},
      {"SoftmaxCrossEntropyLoss", 12, 2, &softmax_cross_entropy},
  };
}

}  // namespace pliant::frontend::onnx
