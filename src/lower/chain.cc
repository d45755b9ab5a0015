// Nodes in a row as one kernel, on one thread:
//
//   kernel(a, b) { the kernels of the first node; those of the second; … }
//
// What only the nodes themselves use stays in registers, on the stack or in scratch memory.
#include "lower/native_loop/region.h"

namespace pliant::lower {

using graph::Node;
using graph::ValueId;

Result<LoweredNode> RegionLowering::lower_chain(std::span<const Node> nodes, const std::vector<ValueId>& outputs) {
  for (ValueId v : outputs) add_output(v);
  Block out;
  for (const Node& n : nodes) TRY(lower_node_here(n, out));
  return finish(nodes.back(), "chain", out.finish(), work_);
}

Result<std::optional<LoweredNode>> lower_chain(const graph::Function& f, std::span<const Node> nodes,
                                               const std::vector<ValueId>& outputs, const ConstantValues& constants,
                                               expr::Context& ctx, const target::Target& target, const Options& options) {
  return RegionLowering::if_native(RegionLowering(f, constants, ctx, target, options).lower_chain(nodes, outputs));
}

}  // namespace pliant::lower
