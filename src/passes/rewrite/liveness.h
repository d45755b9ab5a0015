// Which nodes a function needs.
#pragma once
#include <unordered_set>

#include "graph/graph.h"

namespace pliant::passes {

// Nodes whose outputs reach a result or another live node, and nodes that give rise to a symbol which a live node, a result
// or a requirement uses: a data-dependent node stays as long as its size is asked for. A node inside a region is live
// when the region's results or later nodes of it need it; requirements and failures are live where their region is.
std::unordered_set<const graph::Node*> live_nodes(const graph::Function& f, expr::Context& ctx);
// The function with its live nodes only; the same pointer when all are.
graph::FunctionPtr without_dead_nodes(const graph::FunctionPtr& f, expr::Context& ctx);

}  // namespace pliant::passes
