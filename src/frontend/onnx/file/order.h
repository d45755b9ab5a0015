// The order in which the nodes of a graph are imported.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "frontend/onnx/file/model.h"

namespace pliant::frontend::onnx {

// The node's name, or its first output's when it has none, or `<OpType>_<index>`.
std::string node_name(const NodeProto& n, size_t index);
// `onnx.Add`, `com.microsoft.Gelu`.
std::string op_name(const NodeProto& n);

// Values that a node reads: its inputs, and what the graphs in its attributes use of the enclosing graph. Absent inputs left
// out.
std::vector<std::string_view> values_read(const NodeProto& n);

struct Order {
  std::vector<size_t> indices;  // the nodes that `outputs` need, each after those it reads from
  std::vector<Diagnostic> errors;
};
// Files need not be sorted: the order is topological and otherwise the file's. A value that nothing defines, one that is
// defined twice and a cycle are errors that name the node, its operator and the value.
Order order_nodes(const std::vector<NodeProto>& nodes, const std::vector<std::string_view>& outputs,
                  const std::function<bool(std::string_view)>& is_defined_outside);

}  // namespace pliant::frontend::onnx
