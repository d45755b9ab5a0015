// Walks a model's graph in order, converts each node and collects every fault on the way.
#pragma once
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "frontend/core/body.h"
#include "frontend/onnx/conversion.h"
#include "frontend/onnx/import.h"

namespace pliant::frontend::onnx {

// Names visible to the nodes of one graph. The branches of an If see the enclosing scope; the body of a function does not.
struct Scope {
  const Scope* parent = nullptr;
  std::unordered_map<std::string_view, ValueRef> values;
  const OpsetImports* opsets = nullptr;
  const AttributeEnv* attributes = nullptr;
  std::string prefix;  // of node names: the calls that led here, each followed by '/'
  int depth = 0;
  ValueRef find(std::string_view name) const;
  // Also of an argument that a call leaves out, which `find` gives as null.
  bool defines(std::string_view name) const;
};

// What is left of a graph: its nodes from `next` on. The graphs of one region that call each other (functions, and branches
// that the enclosing graph goes on in) form a chain: the outputs of one are the outputs of the next one's node `call`, after
// which that one goes on.
struct Frame {
  const std::vector<NodeProto>* nodes = nullptr;
  const GraphProto* graph = nullptr;  // that the nodes are of; null for the body of a function
  std::vector<std::string_view> outputs;
  Scope* scope = nullptr;
  Frame* outer = nullptr;           // the next of the chain
  const NodeProto* call = nullptr;  // of `outer`
  std::vector<size_t> order{};
  size_t next = 0;
  // The outputs of `outer` are bound already: branches of different types went on into it.
  bool passed_over = false;
  // The region is a branch that can be imported again together with what follows it.
  bool is_extensible = false;
  // The outputs are the model's.
  bool gives_results = false;
};
std::vector<std::string_view> output_names(const GraphProto& g);

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
  void import_graph(Frame& frame);
  void import_rest(Frame& frame);
  void import_node(const NodeProto& n, size_t index, Frame& frame);
  void convert(const struct Row& row, Conversion& c, Frame& frame, size_t index);
  // Elements that are too large to be written out wherever they are used become symbols.
  Status name_sizes(Conversion& c, Known& k);
  void convert_list(const struct Row& row, Conversion& c, Scope& scope);
  void inline_function(const FunctionProto& f, Conversion& c, const std::vector<ValueRef>& inputs, Frame& frame);
  // The values of a finished graph's outputs; reports those that nothing defines.
  std::optional<std::vector<ValueRef>> outputs_of(const Frame& frame, Conversion& c, const std::string& what);

  // import_if.cc
  struct Branch;
  struct Branches {
    const GraphProto *then, *otherwise;
  };
  void import_if(Conversion& c, Frame& frame);
  // Both branches as a core.if. The error where they give values of different types and what follows cannot be taken along.
  std::optional<Error> import_either(Conversion& c, const ops::Condition& condition, Branches branches, Frame& frame);
  struct Extent;
  std::optional<Error> import_to_extent(Conversion& c, const ops::Condition& condition, Branches branches, Frame& frame,
                                        Extent& known);
  // The node once more in both branches of an If over what its conversion could not decide, or `why`.
  void import_for_both(Conversion& c, std::string name, Dim condition, Error why, Frame& frame);
  const GraphProto* branch_graph(Conversion& c, const char* name);
  void import_taken_branch(Conversion& c, const GraphProto& g, Frame& frame);
  std::optional<Error> import_branches(Conversion& c, const ops::Condition& condition, Branches branches, Frame& frame,
                                       size_t depth);
  Result<std::optional<Values>> import_branch(Conversion& c, Frame& frame, size_t depth, Branch& branch);
  Result<std::vector<ValueRef>> run_branch(Conversion& c, Frame& frame, size_t depth, const GraphProto& g);
  void bind_branches(Conversion& c, Frame& frame, size_t depth, const Values& ids, const Branch& then,
                     const Branch& otherwise, expr::SymbolId first);

  // import_body.cc
  void import_loop(Conversion& c, Frame& frame, size_t index);
  void import_scan(Conversion& c, Scope& scope);
  void import_sequence_map(Conversion& c, Scope& scope);  // import_sequence_map.cc
  // As Body::run.
  Result<std::vector<ValueRef>> run_body(Conversion& c, const GraphProto& g, std::vector<ValueRef> inputs, Scope& scope);
  const GraphProto* body_graph(Conversion& c);
  Body body_of(Conversion& c, const GraphProto& g, Scope& scope);
  void bind_outputs(Conversion& c, std::vector<ValueRef> values, Scope& scope);
  friend class SequenceMapImport;

  // The inputs of a node with their initialisers loaded; sets `broken` when one is.
  std::vector<ValueRef> resolve_inputs(const NodeProto& n, const LocPtr& loc, Scope& scope, bool& broken);
  Result<graph::ConstantPtr> load_initializer(const TensorProto& t);
  void load(Value& v);
  void load_if_pending(Value& v);
  void bind(const NodeProto& n, size_t k, ValueRef v, Scope& scope);
  void bind_broken(const NodeProto& n, Scope& scope);
  void note_unsupported(const NodeProto& n, const std::string& name, const Scope& scope);
  void report(Error e);
  void report_unsupported();
  Status set_results(const Scope& scope);
  // A main that fails where it should run a node that always does; its results are of the declared types.
  Status set_failing_results();

  const ModelProto& model_;
  std::shared_ptr<expr::Context> ctx_;
  ModelState state_;
  std::map<std::string, Dim> symbols_;  // by the model's name of the dim
  std::set<std::string> symbol_names_;  // those of dims without a name too
  struct Unsupported {
    std::string domain, op;
    int64_t opset = 0;
    std::vector<std::string> nodes;
    std::set<std::string> known;  // the same
  };
  std::map<std::string, Unsupported> unsupported_;
  std::unordered_map<const TensorProto*, graph::ConstantPtr> loaded_;
  int64_t imported_ = 0, most_imported_ = 0;
  // A branch's import stops: the If around it has to go on into what follows it.
  bool extends_ = false;
  // How far the branches of an If have to go on, as far as it is known, and which outputs of the model they then give as
  // optionals. By the node's name and how many Ifs made for that node are around it.
  struct Extent {
    size_t depth = 0;
    std::vector<size_t> of_any_rank;
  };
  std::map<std::pair<std::string, size_t>, Extent> extents_;
  std::unordered_map<std::string, size_t> active_;
  int64_t repeated_ = 0;  // nodes imported into both branches of an If
  // Which outputs of the model the branches of an If give with different ranks, and the If once they are optionals.
  struct {
    const NodeProto* node = nullptr;
    std::vector<size_t> outputs;
  } any_rank_;
};

}  // namespace pliant::frontend::onnx
