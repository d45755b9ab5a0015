// Lowering of core.kernel nodes (graph/kernel.h).
#pragma once
#include <unordered_map>

#include "lower/lower.h"

namespace pliant::lower {

// What lowering gave, by the kernel's region.
using LoweredKernels = std::unordered_map<const graph::Region*, LoweredNode>;

// Lowers a kernel of back end "cpu" as its form says: a group by the strategies, a chain and a loop to one kernel of one
// task. A chain or loop for which lower_chain or lower_loop finds nothing is an error.
Result<LoweredNode> lower_kernel(const LoweringContext& in, const graph::Node& kernel);

}  // namespace pliant::lower
