// What the importers of Loop, Scan and SequenceMap share: their bodies.
#include <algorithm>

#include "frontend/onnx/importer.h"

namespace pliant::frontend::onnx {

const GraphProto* Importer::body_graph(Conversion& c) {
  const AttributeProto* a = c.attr("body");
  if (a != nullptr && a->graphs.size() == 1) return a->graphs[0].get();
  report(c.fail("malformed-model", "it has no graph 'body'"));
  return nullptr;
}

Result<std::vector<ValueRef>> Importer::run_body(Conversion& c, const GraphProto& g, std::vector<ValueRef> inputs,
                                                 Scope& scope) {
  size_t errors_before = state_.errors.size();
  Scope inner{&scope, {}, scope.opsets, scope.attributes, scope.prefix, scope.depth + 1};
  for (size_t k = 0; k < inputs.size(); ++k) inner.values[g.inputs[k].name] = inputs[k];
  add_initializers(g, inner);
  Frame frame{&g.nodes, &g, output_names(g), &inner};
  import_graph(frame);
  auto outputs = outputs_of(frame, c, "its body");
  if (state_.errors.size() == errors_before && outputs) return std::move(*outputs);
  Error e;
  e.diagnostics.assign(state_.errors.begin() + static_cast<int64_t>(errors_before), state_.errors.end());
  state_.errors.resize(errors_before);
  return e;
}

std::optional<Values> Importer::values_of_no_iteration(Conversion& c, const GraphProto& body, Dim trip, const Values& init,
                                                       size_t scan_count) {
  if (!ctx_->proves_less_equal(trip, ctx_->constant(0))) return std::nullopt;
  Values out = init;
  for (size_t k = body.outputs.size() - scan_count; k < body.outputs.size(); ++k) {
    const TypeProto& type = body.outputs[k].type;
    auto dtype = dtype_of(type.elem_type);
    if (type.kind != TypeProto::Kind::Tensor || !type.has_shape || !dtype) return std::nullopt;
    std::vector<int64_t> shape{0};
    for (const Dimension& d : type.shape) shape.push_back(std::max<int64_t>(0, d.value.value_or(0)));
    out.push_back(c.constant(graph::make_constant(*dtype, std::move(shape), nullptr, 0)));
  }
  return out;
}

}  // namespace pliant::frontend::onnx
