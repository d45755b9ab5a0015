// The last pass over the graph: what is one kernel. After it each core.kernel (graph/kernel.h) is one launch of a kernel of
// its back end, or a few where lowering says so, and what lies outside of kernels computes nothing:
// - constants, views (lower/view.h), sizes that are read, checks;
// - core.loop, core.if and core.call, which the host runs;
// - calls of the runtime's library, and operators on lists;
// - an array.concat with which a loop of the host grows what it carries, in place.
#pragma once
#include <functional>
#include <string>

#include "graph/graph.h"
#include "lower/kernel.h"

namespace pliant::partition {

struct Options {
  lower::Options lower;      // groups and chains from level 2 on
  bool native_loops = true;  // one kernel for each loop that can be one; otherwise the host runs it
  std::function<void(double)> progress;
  std::function<void(const std::string&)> remark;  // what was done in a slower way, where and why
};
struct Partitioned {
  graph::Module module;
  // Kernels of which the choice needed the lowering.
  lower::LoweredKernels lowered;
};
// The entry and the functions that it calls; others stay as they are. Composites have been expanded before.
Result<Partitioned> partition(const graph::Module& module, const target::Target& target, const Options& options);

}  // namespace pliant::partition
