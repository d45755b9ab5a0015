// Which nodes a function needs.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "passes/names.h"

namespace pliant::passes {

// Nodes whose outputs reach a result or another live node, and nodes that give rise to a symbol which a live node, a result
// or a requirement uses: a data-dependent node stays as long as its size is asked for. A node inside a region is live
// when the region's results or later nodes of it need it; requirements and failures are live where their region is.
struct Live {
  std::unordered_set<const Node*> nodes;
  // Of a live core.if the outputs, of a live core.loop the carried and scan values that anything needs, by their number
  // among the outputs. A carried value that only its own next value needs is not among them.
  std::unordered_map<const Node*, std::unordered_set<size_t>> slots;
};
Live find_live(const Function& f, expr::Context& ctx);
// The function with its live nodes only, which keep their live outputs; the same pointer when all are live.
FunctionPtr without_dead_nodes(const FunctionPtr& f, expr::Context& ctx);

}  // namespace pliant::passes
