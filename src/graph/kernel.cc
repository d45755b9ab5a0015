#include "graph/kernel.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace pliant::graph {
namespace {

using Names = std::unordered_map<ValueId, ValueId>;

void rename_values(std::vector<ValueId>& values, const Names& names) {
  for (ValueId& v : values)
    if (auto it = names.find(v); it != names.end()) v = it->second;
}

// The node, and what is in its regions, with other names for the values that `names` lists.
void rename_node(Node& n, const Names& names) {
  rename_values(n.inputs, names);
  rename_values(n.outputs, names);
  if (is_kernel(n)) return;  // its region uses nothing from outside
  for (auto& region : n.regions) {
    Region renamed = *region;
    for (Node& inner : renamed.nodes) rename_node(inner, names);
    rename_values(renamed.results, names);
    region = std::make_shared<const Region>(std::move(renamed));
  }
}

// Values that nodes use before anything among them defines them.
struct Captured {
  std::vector<ValueId> values;
  std::unordered_set<ValueId> known;

  void use(ValueId v) {
    if (v != kNoValue && known.insert(v).second) values.push_back(v);
  }
  void add(const Node& n) {
    for (ValueId v : n.inputs) use(v);
    for (const auto& region : n.regions) {
      if (is_kernel(n)) break;
      known.insert(region->params.begin(), region->params.end());
      for (const Node& inner : region->nodes) add(inner);
      for (ValueId v : region->results) use(v);
    }
    known.insert(n.outputs.begin(), n.outputs.end());
  }
};

}  // namespace

bool is_kernel(const Node& n) { return n.op == "core.kernel"; }

KernelForm kernel_form(const Node& kernel) {
  const std::vector<Node>& nodes = kernel.regions[0]->nodes;
  if (!nodes.empty() && nodes.back().op == "core.loop") return KernelForm::Loop;
  return std::any_of(nodes.begin(), nodes.end(), is_kernel) ? KernelForm::Chain : KernelForm::Group;
}

Node make_kernel(FunctionBuilder& b, std::vector<Node> nodes, const std::vector<ValueId>& outputs, LocPtr loc) {
  Captured captured;
  for (const Node& n : nodes) captured.add(n);
  const Function& f = b.peek();
  Names names;
  auto region = std::make_shared<Region>();
  auto own_name = [&](ValueId v) { return names[v] = b.add_value(Type(f.value(v).type), std::string(f.value(v).name)); };
  for (ValueId v : captured.values) region->params.push_back(own_name(v));
  for (Node& n : nodes) {
    for (ValueId v : n.outputs)
      if (v != kNoValue) own_name(v);
    rename_node(n, names);
  }
  region->nodes = std::move(nodes);
  region->results = outputs;
  rename_values(region->results, names);
  return Node{"core.kernel", {{"backend", std::string("cpu")}}, std::move(captured.values), outputs, {std::move(region)},
              std::move(loc)};
}

std::vector<Node> inlined_nodes(const Node& kernel) {
  const Region& r = *kernel.regions[0];
  Names names;
  for (size_t i = 0; i < r.params.size(); ++i) names[r.params[i]] = kernel.inputs[i];
  for (size_t i = 0; i < r.results.size(); ++i) names[r.results[i]] = kernel.outputs[i];
  std::vector<Node> nodes = r.nodes;
  for (Node& n : nodes) rename_node(n, names);
  return nodes;
}

}  // namespace pliant::graph
