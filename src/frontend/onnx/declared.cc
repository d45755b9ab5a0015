// What the model declares about the values of its graphs.
#include <algorithm>

#include "frontend/onnx/importer.h"

namespace pliant::frontend::onnx {
namespace {

std::optional<int64_t> declared_rank(const Frame& frame, std::string_view name) {
  if (frame.graph != nullptr) {
    for (const auto* infos : {&frame.graph->value_info, &frame.graph->outputs})
      for (const ValueInfoProto& v : *infos)
        if (v.name == name && v.type.kind == TypeProto::Kind::Tensor && v.type.has_shape)
          return static_cast<int64_t>(v.type.shape.size());
  }
  if (frame.outer == nullptr || frame.call == nullptr) return std::nullopt;
  auto it = std::find(frame.outputs.begin(), frame.outputs.end(), name);
  const size_t k = static_cast<size_t>(it - frame.outputs.begin());
  if (it == frame.outputs.end() || k >= frame.call->outputs.size()) return std::nullopt;
  return declared_rank(*frame.outer, frame.call->outputs[k]);
}

}  // namespace

std::optional<int64_t> Conversion::declared_rank(size_t k) const {
  if (frame_ == nullptr || !wants(k)) return std::nullopt;
  return onnx::declared_rank(*frame_, node.outputs[k]);
}

}  // namespace pliant::frontend::onnx
