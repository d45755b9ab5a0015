// Normalisations.
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

constexpr double kEpsilon = static_cast<double>(1e-5f);

Result<Values> batch_norm(Conversion& c) {
  if (!c.bool_attr("spatial", true))
    return c.fail("unsupported-attribute", "statistics for each position (spatial = 0) are not supported");
  bool training = c.bool_attr("training_mode", false);
  if (!training && (c.wants(1) || c.wants(2))) {
    return c.fail("training-mode", "its running statistics are asked for, which only training mode gives");
  }
  Attrs attrs{{"epsilon", c.float_attr("epsilon", kEpsilon)}};
  if (training) {
    attrs.set("training", true);
    attrs.set("momentum", c.float_attr("momentum", static_cast<double>(0.9f)));
  }
  return c.append_multi("nn.batch_norm", std::move(attrs), c.all_inputs(), training ? 3 : 1);
}

Result<Values> instance_norm(Conversion& c) {
  return Values{TRY(c.append("nn.instance_norm", Attrs{{"epsilon", c.float_attr("epsilon", kEpsilon)}}, c.all_inputs()))};
}

Result<Attrs> scaled_norm_attrs(Conversion& c) {
  DType stash = TRY(c.dtype_attr("stash_type", DType::F32));
  return Attrs{{"axis", c.int_attr("axis", -1)}, {"epsilon", c.float_attr("epsilon", kEpsilon)}, {"stash", stash}};
}

Result<Values> layer_norm(Conversion& c) {
  Attrs attrs = TRY(scaled_norm_attrs(c));
  return c.append_multi("nn.layer_norm", std::move(attrs), c.all_inputs(), c.wants(1) || c.wants(2) ? 3 : 1);
}

Result<Values> rms_norm(Conversion& c) {
  Attrs attrs = TRY(scaled_norm_attrs(c));
  return Values{TRY(c.append("nn.rms_norm", std::move(attrs), c.all_inputs()))};
}

// Scale and bias belonged to groups in opset 18 and belong to channels since 21.
Result<Values> group_norm(Conversion& c) {
  DType stash = TRY(c.dtype_attr("stash_type", DType::F32));
  Attrs attrs{{"groups", c.int_attr("num_groups", 1)}, {"epsilon", c.float_attr("epsilon", kEpsilon)}, {"stash", stash}};
  if (c.opset < 21) attrs.set("per_group", true);
  return Values{TRY(c.append("nn.group_norm", std::move(attrs), c.all_inputs()))};
}

Result<Values> lp_norm(Conversion& c) {
  return Values{TRY(c.append("nn.lp_norm", Attrs{{"axis", c.int_attr("axis", -1)}, {"p", c.int_attr("p", 2)}}, {c.in(0)}))};
}

Result<Values> mvn(Conversion& c) {
  return Values{TRY(c.append("nn.mvn", Attrs{{"axes", c.ints_attr("axes", {0, 2, 3})}}, {c.in(0)}))};
}

Result<Values> lrn(Conversion& c) {
  Attrs attrs{{"size", c.int_attr("size", 1)},
              {"alpha", c.float_attr("alpha", static_cast<double>(0.0001f))},
              {"beta", c.float_attr("beta", 0.75)},
              {"bias", c.float_attr("bias", 1)}};
  return Values{TRY(c.append("nn.lrn", std::move(attrs), {c.in(0)}))};
}

}  // namespace

Rows norm_rows() {
  return {
      {"BatchNormalization", 7, 5, &batch_norm},  {"InstanceNormalization", 6, 3, &instance_norm},
      {"LayerNormalization", 17, 2, &layer_norm}, {"RMSNormalization", 23, 2, &rms_norm},
      {"GroupNormalization", 18, 3, &group_norm}, {"LpNormalization", 1, 1, &lp_norm},
      {"MeanVarianceNormalization", 9, 1, &mvn},  {"LRN", 1, 1, &lrn},
  };
}

}  // namespace pliant::frontend::onnx
