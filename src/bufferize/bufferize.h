// From the partitioned graph to the host IR: storage for every value, an integer slot for every size, and launches of the
// kernels that lowering gives.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "host/host.h"
#include "lower/kernel.h"

namespace pliant::bufferize {

struct Bufferized {
  host::Module module;
  std::vector<graph::ConstantPtr> constants;  // one a module.constants
  artifact::DebugTable debug;
  // With lower::Options::derivations, for each node with kernels: its location, LoweredNode::derivation, its kernels.
  std::string derivations;
};
struct Options {
  lower::Options lower;
  std::function<void(double)> progress;
};
// The entry of a partitioned module (partition/partition.h), and the functions that it calls. `lowered` has what lowering
// gave of some of its kernels.
Result<Bufferized> bufferize(const graph::Module& module, const target::Target& target, const Options& options,
                             lower::LoweredKernels lowered = {});

}  // namespace pliant::bufferize
