// What a region does with the values that it is given: the one analysis of what grows and of what may be written over.
#pragma once
#include <functional>
#include <unordered_set>

#include "graph/graph.h"

namespace pliant::ops {

using ValueSet = std::unordered_set<graph::ValueId>;

// Whether the node, or a region of it, uses one of `values`.
bool uses_any(const graph::Node& n, const ValueSet& values);
// A reshape or identity: all elements of its input in their order.
bool is_whole_view(const graph::Node& n);
// What `v` is a whole view of, as far as nodes of `r` itself say.
graph::ValueId source_of(const graph::Region& r, graph::ValueId v);

// An array.concat that puts something behind a value.
struct Append {
  const graph::Node* concat;
  size_t axis;
  bool at_end;  // in memory too: the axes before it have size 1
};
// The node of `r` that gives `value` as `old` with more behind it, both seen through views.
std::optional<Append> append_to(const graph::Function& f, const graph::Region& r, graph::ValueId old, graph::ValueId value);

// What appends to a value where branches may: the concats, each with the region that it is in, and the values that core.ifs
// merge.
struct BranchAppends {
  std::vector<std::pair<const graph::Node*, const graph::Region*>> concats;
  std::vector<graph::ValueId> merged;
};
// Whether value `v` of region `r` is `old`, or `old` with more behind it in some branches of a core.if and as it is in the
// others; adds to `found`.
bool appends_in_branches(const graph::Function& f, const graph::Region& r, graph::ValueId v, graph::ValueId old,
                         BranchAppends& found);

// The node of `r` that computes `value` where nothing uses one of `old` from then on, but perhaps that node; null where
// there is none. `old` grows by the outputs of nodes that share the memory of one of them.
const graph::Node* last_user_computing(const graph::Region& r, graph::ValueId value, ValueSet& old,
                                       const std::function<bool(const graph::Node&)>& shares_memory);

}  // namespace pliant::ops
