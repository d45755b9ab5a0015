// What converting one ONNX node sees: its attributes, and what the model declares of its outputs.
#pragma once
#include <map>

#include "frontend/core/conversion.h"
#include "frontend/onnx/file/model.h"
#include "frontend/onnx/file/tensor_data.h"

namespace pliant::frontend::onnx {

struct Frame;

// Attributes that a function's body refers to, by the function's attribute names.
using AttributeEnv = std::map<std::string_view, const AttributeProto*>;

// State shared by the conversions of one import.
struct ModelState : ImportState {
  ModelState(const ModelProto& m, expr::Context& context)
      : ImportState{context, graph::FunctionBuilder("main", context)}, model(m), loader(m) {}
  const ModelProto& model;
  TensorLoader loader;
};

class Conversion : public frontend::Conversion {
 public:
  Conversion(ModelState& state, const NodeProto& node_proto, int64_t opset_version, LocPtr node_loc,
             std::vector<ValueRef> node_inputs, const AttributeEnv* env, const Frame* frame)
      : frontend::Conversion(state, std::move(node_loc), std::move(node_inputs)),
        node(node_proto),
        opset(opset_version),
        model_(state),
        env_(env),
        frame_(frame) {}

  const NodeProto& node;
  const int64_t opset;  // of the node's domain
  const ModelProto& model() const { return model_.model; }

  size_t output_count() const { return node.outputs.size(); }
  // Whether output i is asked for.
  bool wants(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  // The rank that the model declares for output k, in the graph around the node or where that graph gives it on.
  std::optional<int64_t> declared_rank(size_t k) const;

  // Attributes. One of the wrong kind is noted, and reported after the conversion.
  bool has_attr(std::string_view name) { return attr(name) != nullptr; }
  const AttributeProto* attr(std::string_view name) const;
  int64_t int_attr(std::string_view name, int64_t fallback);
  bool bool_attr(std::string_view name, bool fallback) { return int_attr(name, fallback) != 0; }
  double float_attr(std::string_view name, double fallback);
  std::string string_attr(std::string_view name, const std::string& fallback);
  std::vector<int64_t> ints_attr(std::string_view name, std::vector<int64_t> fallback);
  std::vector<double> floats_attr(std::string_view name, std::vector<double> fallback);
  std::vector<std::string> strings_attr(std::string_view name);
  // An ONNX element type attribute.
  Result<DType> dtype_attr(std::string_view name, DType fallback);
  Result<graph::ConstantPtr> tensor_attr(std::string_view name);
  const std::optional<Error>& attr_error() const { return attr_error_; }

 private:
  void wrong_kind(std::string_view name, const char* wanted);
  ModelState& model_;
  const AttributeEnv* env_;
  const Frame* frame_;
  std::optional<Error> attr_error_;
};

}  // namespace pliant::frontend::onnx
