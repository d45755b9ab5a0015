// A walk that rebuilds a function with its loops, or other nodes with regions, changed: what the passes on them are made of.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "graph/control.h"
#include "graph/graph.h"

namespace pliant::passes {

// Visits each node of `op`, or every node where that is empty, after those inside it, with the builder open where the node
// stands: the visitor may append nodes there, change the node, or let other values stand for its outputs.
class LoopSweep {
 public:
  // Drop: every output that is used was renamed, or something else defines it.
  enum class Action { Keep, Change, Drop };
  using Visit = std::function<Result<Action>(graph::Node&)>;

  LoopSweep(const graph::FunctionPtr& f, expr::Context& ctx, std::string op = "core.loop");
  // The function after the walk; the same pointer when every loop was kept.
  Result<graph::FunctionPtr> run(const Visit& visit);

  expr::Context& ctx() const { return ctx_; }
  graph::FunctionBuilder& builder() { return builder_; }
  const graph::Type& type(graph::ValueId v) const { return builder_.peek().values[v].type; }
  const graph::Shape& shape(graph::ValueId v) const { return type(v).tensor()->shape; }
  // Whether the loop runs exactly max(0, trip) times.
  bool is_counted(const graph::LoopParts& loop) const;
  // Symbols that are known where the visited loop stands; what its body defines is not among them.
  bool is_known(expr::SymbolId s) const;
  bool is_known(graph::Dim d) const;
  // Every dim of the node's attributes, outputs and regions is known before the loop.
  bool has_known_dims(const graph::Node& n) const;
  // Whether a core.const before the visited node defines it.
  bool is_constant(graph::ValueId v) const { return constants_.count(v) != 0; }
  void rename(graph::ValueId old, graph::ValueId by) { renames_[old] = by; }
  // Appends a node of the visited loop's body before the loop.
  void append(graph::Node n);

 private:
  graph::ValueId renamed(graph::ValueId v) const;
  Status walk(const std::vector<graph::Node>& nodes, const Visit& visit);
  Status with_new_regions(graph::Node& n, const Visit& visit);
  void learn(const graph::Type& t);
  void learn(const graph::Node& n);

  graph::FunctionPtr f_;
  expr::Context& ctx_;
  std::string op_;
  graph::FunctionBuilder builder_;
  std::unordered_set<expr::SymbolId> known_;
  std::unordered_map<graph::ValueId, graph::ValueId> renames_;
  std::unordered_set<graph::ValueId> constants_, true_constants_;
  bool changed_ = false;
};

// Whether the node may stop the run: nothing for a node that is no plain computation.
enum class Fault : uint8_t { Never, Maybe };
Result<std::optional<Fault>> fault_of(const graph::Function& f, const graph::Node& n, expr::Context& ctx);
// The values that a region's params and nodes define, those of nested regions too.
std::unordered_set<graph::ValueId> defined_in(const graph::Region& r);
// Whether the node, or a region of it, uses one of `values`.
bool uses_any(const graph::Node& n, const std::unordered_set<graph::ValueId>& values);

}  // namespace pliant::passes
