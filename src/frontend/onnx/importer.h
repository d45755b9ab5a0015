// Walks a model's graph in order, converts each node and collects every fault on the way.
#pragma once
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "frontend/onnx/conversion.h"
#include "frontend/onnx/import.h"

namespace pliant::frontend::onnx {

// Names visible to the nodes of one graph. The arms of an If see the enclosing scope; the body of a function does not.
struct Scope {
  const Scope* parent = nullptr;
  std::unordered_map<std::string_view, ValueRef> values;
  const OpsetImports* opsets = nullptr;
  const AttributeEnv* attributes = nullptr;
  std::string prefix;  // of node names: the calls that led here, each followed by '/'
  int depth = 0;
  ValueRef find(std::string_view name) const;
};

class Importer {
 public:
  Importer(const ModelProto& model, std::shared_ptr<expr::Context> ctx);
  Result<graph::Module> run(const ImportOptions& options);

 private:
  void check_versions();
  // inputs.cc: the graph's inputs become parameters over symbols.
  void make_inputs(const ImportOptions& options, Scope& scope);
  void make_input(const ValueInfoProto& v, const TensorProto* default_value, bool used_as_sizes,
                  const ImportOptions& options, Scope& scope);
  // Sequences and optionals of tensors; nothing, reported, for others.
  std::optional<graph::Type> list_type(const ValueInfoProto& v, const ImportOptions& options);
  std::optional<graph::Shape> input_shape(const ValueInfoProto& v, const TensorProto* default_value,
                                          const ImportOptions& options);
  Dim axis_symbol(const std::string& input, size_t axis, std::string name, const ImportOptions& options);
  std::shared_ptr<const Known> element_symbols(const Value& v);
  void add_input(const ValueInfoProto& v, ValueRef value, Scope& scope);
  void check_options(const ImportOptions& options);

  void add_initializers(const GraphProto& g, Scope& scope);
  void import_nodes(const std::vector<NodeProto>& nodes, const std::vector<std::string_view>& outputs, Scope& scope);
  void import_node(const NodeProto& n, size_t index, Scope& scope);
  void convert(const struct Row& row, Conversion& c, Scope& scope);
  void convert_list(const struct Row& row, Conversion& c, Scope& scope);
  void import_if(Conversion& c, Scope& scope);
  void inline_function(const FunctionProto& f, Conversion& c, const std::vector<ValueRef>& inputs, Scope& scope);
  // The inputs of a node with their initialisers loaded; sets `broken` when one is.
  std::vector<ValueRef> resolve_inputs(const NodeProto& n, const LocPtr& loc, Scope& scope, bool& broken);
  void load(Value& v);
  void bind(const NodeProto& n, size_t k, ValueRef v, Scope& scope);
  void bind_broken(const NodeProto& n, Scope& scope);
  void note_unsupported(const NodeProto& n, const std::string& name, const Scope& scope);
  void report(Error e);
  void report_unsupported();
  Status set_results(const Scope& scope);

  const ModelProto& model_;
  std::shared_ptr<expr::Context> ctx_;
  ImportState state_;
  std::map<std::string, Dim> symbols_;  // by the model's name of the dim
  std::set<std::string> symbol_names_;  // those of dims without a name too
  struct Unsupported {
    std::string domain, op;
    int64_t opset = 0;
    std::vector<std::string> nodes;
  };
  std::map<std::string, Unsupported> unsupported_;
  int64_t inlined_ = 0;
};

}  // namespace pliant::frontend::onnx
