#include "frontend/onnx/demand.h"

#include "frontend/onnx/file/order.h"
#include "frontend/onnx/table.h"

namespace pliant::frontend::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

// The search is a hint: it stops in models whose functions call each other this deeply or often, which the import reports.
constexpr int kMaxDepth = 32;
constexpr int kMaxVisits = 100'000;

class Finder {
 public:
  explicit Finder(const ModelProto& m) : model_(m) {}

  // `names` holds the sizes among the results and grows by those they come from.
  void visit(const std::vector<NodeProto>& nodes, const std::vector<std::string_view>& outputs, const OpsetImports& opsets,
             Names& names, int depth) {
    if (depth > kMaxDepth || ++visits_ > kMaxVisits) return;
    Order order = order_nodes(nodes, outputs, [](std::string_view) { return true; });
    for (size_t i = order.indices.size(); i-- > 0;) visit_node(nodes[order.indices[i]], opsets, names, depth);
  }

 private:
  void visit_node(const NodeProto& n, const OpsetImports& opsets, Names& names, int depth) {
    bool is_size = false;
    for (std::string_view out : n.outputs) is_size = is_size || names.count(out) != 0;
    if (const FunctionProto* f = find_function(model_, n)) {
      visit_call(*f, n, names, depth);
    } else if (const Row* row = find_row(n.domain, n.op_type, version_of(opsets, n.domain))) {
      bool passes = is_size && row->fold != nullptr && n.op_type != "Shape" && n.op_type != "Size";
      for (size_t k = 0; k < n.inputs.size(); ++k) {
        if (passes || (k < 32 && (row->shape_inputs >> k & 1u) != 0)) names.insert(n.inputs[k]);
      }
    } else if (n.domain.empty() && (n.op_type == "If" || n.op_type == "Loop" || n.op_type == "Scan")) {
      visit_control(n, opsets, names, depth);
    }
  }

  // A condition and a number of iterations are sizes. The outputs of branches and bodies are the node's, behind the next
  // condition of a Loop; the inputs of a body are the node's, in order.
  void visit_control(const NodeProto& n, const OpsetImports& opsets, Names& names, int depth) {
    if (n.op_type != "Scan" && !n.inputs.empty()) names.insert(n.inputs[0]);
    size_t skipped = n.op_type == "Loop" ? 1 : 0;
    for (const AttributeProto& a : n.attributes) {
      for (const auto& g : a.graphs) {
        std::vector<std::string_view> outputs;
        for (size_t k = 0; k < g->outputs.size(); ++k) {
          outputs.push_back(g->outputs[k].name);
          if (k >= skipped && k - skipped < n.outputs.size() && names.count(n.outputs[k - skipped]))
            names.insert(g->outputs[k].name);
        }
        visit(g->nodes, outputs, opsets, names, depth + 1);
        for (size_t k = 2; k < g->inputs.size() && k < n.inputs.size() && n.op_type == "Loop"; ++k)
          if (names.count(g->inputs[k].name)) names.insert(n.inputs[k]);
      }
    }
  }

  void visit_call(const FunctionProto& f, const NodeProto& n, Names& names, int depth) {
    Names inner;
    for (size_t k = 0; k < f.outputs.size() && k < n.outputs.size(); ++k) {
      if (names.count(n.outputs[k])) inner.insert(f.outputs[k]);
    }
    visit(f.nodes, f.outputs, f.opsets, inner, depth + 1);
    for (size_t k = 0; k < f.inputs.size() && k < n.inputs.size(); ++k) {
      if (inner.count(f.inputs[k])) names.insert(n.inputs[k]);
    }
  }

  const ModelProto& model_;
  int visits_ = 0;
};

}  // namespace

std::unordered_set<std::string_view> values_used_as_sizes(const ModelProto& m) {
  Names names;
  std::vector<std::string_view> outputs;
  for (const ValueInfoProto& v : m.graph.outputs) outputs.push_back(v.name);
  Finder(m).visit(m.graph.nodes, outputs, m.opsets, names, 0);
  names.erase(std::string_view());
  return names;
}

}  // namespace pliant::frontend::onnx
