// Which operators are computed together.
#pragma once
#include "graph/graph.h"

namespace pliant::partition {

// The function with a core.kernel for each group of at least two operators, in its regions too; the same pointer where there
// is none.
Result<graph::FunctionPtr> group_nodes(const graph::FunctionPtr& f, expr::Context& ctx);

}  // namespace pliant::partition
