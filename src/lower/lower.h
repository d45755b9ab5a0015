// Lowering: one node of the fused graph to loop functions, through the strategies that fit it.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "artifact/debug.h"
#include "graph/graph.h"
#include "loop/loop.h"
#include "ops/op.h"
#include "target/target.h"
#include "te/te.h"

namespace pliant::lower {

struct Options {
  int opt_level = 3;
  bool derivations = false;  // fill in the texts of LoweredNode and LoweredKernel that a dump shows
  // The value of a template's knob, of those that it may have; none: the first of them.
  std::function<int64_t(const std::string& knob, const std::vector<int64_t>& domain)> choose{};
};
// What is bound to one parameter of a kernel: a graph value, a packed constant, or a temporary of the node.
struct KernelArg {
  graph::ValueId value = graph::kNoValue;
  graph::ConstantPtr constant;  // set for packed weights
  int32_t temporary = -1;       // index into LoweredNode::temporaries
  expr::Dim offset{};           // elements of it before the parameter's first; none: 0
};
// A condition over sizes: each first one is at most its second. Empty: always.
using Predicate = std::vector<std::pair<expr::Dim, expr::Dim>>;
struct LoweredKernel {
  loop::Function function;
  std::vector<KernelArg> args;  // one a param
  expr::Dim tasks;              // the task grid
  expr::Dim work;               // total scalar operations
  Predicate when{};             // where it runs (lower/version.h); tasks and work are 0 elsewhere
  // How its loops were made, then those of the kernels that became part of it.
  std::vector<artifact::Provenance> provenance{};
  // Of a kernel that a template made, with Options::derivations: the domains of the knobs, and the naive function.
  std::string naive{};
};
// A kernel whose loops a builder makes without a schedule, yet to be filled in.
LoweredKernel built_by(const std::string& builder);
// Says that the kernel computes what the rewrite of that name gave.
void add_rewrite(LoweredKernel& k, const std::string& name);
struct Temporary {
  DType dtype;
  std::vector<expr::Dim> shape;
};
// `symbol` becomes known after the node's kernels: it is element `element` of an i64 temporary that they wrote.
struct SymbolRead {
  int32_t temporary = 0;
  uint32_t element = 0;
  expr::SymbolId symbol = 0;
};
struct LoweredNode {
  std::vector<LoweredKernel> kernels;
  std::vector<Temporary> temporaries;  // buffers between the node's kernels
  std::vector<SymbolRead> reads;
  // Run when the symbols of `reads` are known; outputs whose sizes depend on them are written here only.
  std::vector<LoweredKernel> after_reads;
  // What the kernels were made from and how, as text: for each node of the graph the strategy, then the naive function
  // (lower/naive/work.h).
  std::string derivation;
};
struct ScheduleMemo;  // lower/memo.h
// What a strategy sees: the node's computation as tensor expressions over its inputs.
struct Problem {
  expr::Context& ctx;
  te::Builder& te;  // made the inputs and outputs; strategies may add stages
  const target::Target& target;
  const Options& options;
  const graph::Function& function;
  const graph::Node& node;
  std::vector<te::Tensor> inputs;             // one a node input, then constants that a strategy made
  std::vector<te::Tensor> outputs;            // one a node output
  std::vector<graph::ConstantPtr> constants;  // inputs[i]'s value when it is a constant, else null
  std::vector<ops::DataCheck> checks;         // run before the outputs are computed
  std::string name;                           // for the kernel
  LocPtr loc;
  ScheduleMemo* memo = nullptr;
};
struct StageList;  // lower/stages.h: the Problem's computation after inlining
// Makes the kernels of a node from what a strategy found in it; not longer than the Problem and the stages live.
using Lowering = std::function<Result<LoweredNode>()>;
// Tried in order of the table; `match` looks only at the stages.
struct Strategy {
  std::string name;
  std::function<std::optional<Lowering>(const Problem&, const StageList&)> match;
};
const std::vector<Strategy>& all_strategies();
// The values of a function that are constants.
class ConstantValues {
 public:
  ConstantValues() = default;
  // Knows what `outer` knows, which is to outlive it, and what it is told itself.
  explicit ConstantValues(const ConstantValues* outer) : outer_(outer) {}
  // Null where `v` is not known to be a constant.
  graph::ConstantPtr operator[](graph::ValueId v) const;
  void set(graph::ValueId v, graph::ConstantPtr c) { own_[v] = std::move(c); }

 private:
  const ConstantValues* outer_ = nullptr;
  std::unordered_map<graph::ValueId, graph::ConstantPtr> own_;
};
// The function whose nodes are lowered, what is known of it, and for whom.
struct LoweringContext {
  const graph::Function& function;
  const ConstantValues& constants;
  expr::Context& ctx;
  const target::Target& target;
  const Options& options;
  ScheduleMemo* memo = nullptr;  // where it outlives the node, equal naive functions of other nodes are not scheduled again
};
// Lowers a node. The name is made from the model's nodes.
Result<LoweredNode> lower_node(const LoweringContext& in, const graph::Node& node);
// The node as one kernel of one task that does nothing clever: what lower_node's kernels are measured against.
Result<LoweredNode> naive_node(const LoweringContext& in, const graph::Node& node);
// Lowers a core.loop whose body has loop IR throughout to one kernel that runs the whole loop. Nothing when that is not
// possible; `reason` then gets why. The node is as `lower_node` gets it: nodes of the body may be fused groups.
Result<std::optional<LoweredNode>> lower_loop(const LoweringContext& in, const graph::Node& node,
                                              std::string* reason = nullptr);
// Lowers nodes in a row, none of them structured, to one kernel of one task. `outputs`: the values that others use, none of
// them a view (lower/view.h). Nothing where a temporary has no bound.
Result<std::optional<LoweredNode>> lower_chain(const LoweringContext& in, std::span<const graph::Node> nodes,
                                               const std::vector<graph::ValueId>& outputs);

}  // namespace pliant::lower
