// From the fused graph to the host IR: storage for every value, an integer slot for every size, and launches of the kernels
// that lowering gives.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "host/host.h"
#include "lower/lower.h"

namespace pliant::bufferize {

struct Bufferized {
  host::Module module;
  std::vector<graph::ConstantPtr> constants;  // one a module.constants
  // With lower::Options::derivations, for each node with kernels: its location, their names, LoweredNode::derivation.
  std::string derivations;
};
struct Options {
  lower::Options lower;
  bool native_loops = true;  // one kernel for each loop that can be one; otherwise bytecode
  std::function<void(double)> progress;
  std::function<void(const std::string&)> remark;  // what was done in a slower way, where and why
};
// The module's entry, and the functions that it calls.
Result<Bufferized> bufferize(const graph::Module& module, const target::Target& target, const Options& options);

}  // namespace pliant::bufferize
