#include "ops/control/carried.h"

#include <algorithm>

#include "graph/control.h"

namespace pliant::ops {

using graph::Node;
using graph::Region;
using graph::ValueId;

namespace {

bool gives(const Node& n, ValueId v) { return std::find(n.outputs.begin(), n.outputs.end(), v) != n.outputs.end(); }

}  // namespace

bool uses_any(const Node& n, const ValueSet& values) {
  auto among = [&](ValueId v) { return values.count(v) != 0; };
  if (std::any_of(n.inputs.begin(), n.inputs.end(), among)) return true;
  return std::any_of(n.regions.begin(), n.regions.end(), [&](const auto& r) {
    return std::any_of(r->results.begin(), r->results.end(), among) ||
           std::any_of(r->nodes.begin(), r->nodes.end(), [&](const Node& inner) { return uses_any(inner, values); });
  });
}

bool is_whole_view(const Node& n) { return n.op == "array.reshape" || n.op == "math.identity"; }

ValueId source_of(const Region& r, ValueId v) {
  for (size_t i = r.nodes.size(); i-- > 0;) {
    const Node& n = r.nodes[i];
    if (n.outputs.size() == 1 && n.outputs[0] == v && is_whole_view(n)) v = n.inputs[0];
  }
  return v;
}

std::optional<Append> append_to(const graph::Function& f, const Region& r, ValueId old, ValueId value) {
  value = source_of(r, value);
  auto n = std::find_if(r.nodes.begin(), r.nodes.end(), [&](const Node& node) { return gives(node, value); });
  if (n == r.nodes.end() || n->op != "array.concat" || source_of(r, n->inputs[0]) != old) return std::nullopt;
  const graph::Shape& shape = f.tensor_type(value).shape;
  int64_t axis = attrs_of(*n).as_int("axis");
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  return Append{&*n, static_cast<size_t>(axis),
                std::all_of(shape.begin(), shape.begin() + axis, [](graph::Dim d) { return d.is_const(1); })};
}

bool appends_in_branches(const graph::Function& f, const Region& r, ValueId v, ValueId old, BranchAppends& found) {
  v = source_of(r, v);
  if (v == old) return true;
  for (const Node& n : r.nodes) {
    const auto at = static_cast<size_t>(std::find(n.outputs.begin(), n.outputs.end(), v) - n.outputs.begin());
    if (at == n.outputs.size()) continue;
    if (auto append = append_to(f, r, old, v); append && append->at_end) {
      found.concats.push_back({&n, &r});
      return true;
    }
    if (n.op != "core.if") return false;
    found.merged.push_back(v);
    return std::all_of(n.regions.begin(), n.regions.end(), [&](const auto& branch) {
      return graph::diverges(*branch) || appends_in_branches(f, *branch, branch->results[at], old, found);
    });
  }
  return false;
}

const Node* last_user_computing(const Region& r, ValueId value, ValueSet& old,
                                const std::function<bool(const Node&)>& shares_memory) {
  const Node* computing = nullptr;
  for (const Node& n : r.nodes) {
    const bool uses = uses_any(n, old);
    if (computing != nullptr && uses) return nullptr;
    if (computing == nullptr && gives(n, value))
      computing = &n;
    else if (uses && shares_memory(n))
      old.insert(n.outputs.begin(), n.outputs.end());
  }
  const bool is_result = std::any_of(r.results.begin(), r.results.end(), [&](ValueId v) { return old.count(v) != 0; });
  return is_result ? nullptr : computing;
}

}  // namespace pliant::ops
