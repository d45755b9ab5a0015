// One function on its way to kernels: nodes are put in kernels in order, in the regions that the host runs too. What can be
// chosen only when it is known what lowering makes of nodes is tried, and what was tried is kept.
#pragma once
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "graph/control.h"
#include "lower/memo.h"
#include "partition/partition.h"

namespace pliant::partition {

using graph::Node;
using graph::ValueId;

// From this level on nodes share kernels.
constexpr int kGroupingLevel = 2;

class Partitioner {
 public:
  Partitioner(const graph::Function& f, expr::Context& ctx, const target::Target& target, const Options& options,
              lower::LoweredKernels& lowered);
  Result<graph::FunctionPtr> run();

 private:
  // partitioner.cc
  Status add_nodes(const std::vector<Node>& nodes);
  Status add_node(const Node& n);
  Status add_region(std::shared_ptr<const graph::Region>& region);
  void add_kernel(Node kernel, lower::LoweredNode low);
  // Whether loops compute the node: it is neither a view nor an append.
  bool is_computed(const Node& n) const;
  Node as_kernel(const Node& n);
  // A core.const, or a view of one.
  void learn_constant(const Node& n);
  void learn(const std::vector<ValueId>& values);
  void learn(graph::Dim d);
  bool all_known(const graph::TensorType& t) const;

  // loops.cc
  Status add_loop(const Node& n);
  Node loop_kernel(const Node& n, const lower::LoweredNode& low);
  std::shared_ptr<const graph::Region> with_kernels(const graph::Region& r);
  Node with_kernels_inside(Node n);
  void find_appends_of_kernel(const Node& loop);
  void find_appends_of_host(const graph::LoopParts& loop, const std::vector<bool>& grows);

  // chains.cc: small nodes from `first` on as one kernel. How many these were; 0 where no chain begins there.
  Result<size_t> add_chain(const std::vector<Node>& nodes, size_t first);
  bool is_small(const Node& n);
  ValueId root_in(std::span<const Node> run, ValueId v) const;
  std::vector<ValueId> used_after(std::span<const Node> run) const;
  Node chain_kernel(std::span<const Node> run, const std::vector<ValueId>& outputs);
  Status add_views(std::span<const Node> run);

  const graph::Function& f_;
  expr::Context& ctx_;
  const target::Target& target_;
  const Options& options_;
  lower::LoweredKernels& lowered_;
  lower::ScheduleMemo memo_;
  graph::FunctionBuilder b_;
  lower::ConstantValues constants_;
  std::unordered_map<ValueId, const Node*> constant_nodes_;
  std::unordered_set<ValueId> appends_;       // outputs of array.concat nodes that append in place
  std::unordered_set<expr::SymbolId> known_;  // at this point of the host's program
  std::vector<uint32_t> uses_;                // of each value, by nodes and results
  std::unordered_map<const Node*, lower::LoweredNode> tried_;
  std::unordered_set<const Node*> alone_;  // nodes whose chain was not possible
};

}  // namespace pliant::partition
