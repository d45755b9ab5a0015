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
  LoweredKernel k;
  k.provenance = provenance_of("chain");
  k.function.name = "chain_" + symbol_name(nodes.back());
  k.function.params = params_;
  k.function.traps = traps_;
  k.function.loc = nodes.back().loc;
  k.function.body = out.finish();
  k.args = args_;
  k.tasks = ctx_.constant(1);
  k.work = ctx_.constant(work_);
  LoweredNode low;
  low.kernels.push_back(std::move(k));
  low.temporaries = temporaries_;
  low.derivation = derivation_;
  return low;
}

Result<std::optional<LoweredNode>> lower_chain(const graph::Function& f, std::span<const Node> nodes,
                                               const std::vector<ValueId>& outputs, const ConstantValues& constants,
                                               expr::Context& ctx, const target::Target& target, const Options& options) {
  Result<LoweredNode> low = RegionLowering(f, constants, ctx, target, options).lower_chain(nodes, outputs);
  if (low.ok()) return std::optional<LoweredNode>(low.take());
  if (low.error().diagnostics[0].id != RegionLowering::kNotNative) return low.error();
  return std::optional<LoweredNode>();
}

}  // namespace pliant::lower
