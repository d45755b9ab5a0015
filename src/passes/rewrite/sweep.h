// One walk over a function that builds the next one: what every rewriting pass is made of.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "graph/control.h"
#include "graph/graph.h"

namespace pliant::passes {

// A pass visits each node in order, or each of one operator, after the nodes in its regions, with inputs already renamed to
// the values of the new function and the builder open where the node stands. It may append nodes there, change the node, and
// let other values stand for its outputs.
class Sweep {
 public:
  // Drop: every output that is used was replaced or renamed, or something else defines it.
  enum class Action { Keep, Change, Drop };
  using Visit = std::function<Result<Action>(graph::Node&)>;

  // Visits the nodes of `op`, or all where it is empty.
  Sweep(const graph::FunctionPtr& f, expr::Context& ctx, std::string op = "");
  // The function after the walk; the same pointer when every node was kept.
  Result<graph::FunctionPtr> run(const Visit& visit);

  expr::Context& ctx() const { return ctx_; }
  graph::FunctionBuilder& builder() { return builder_; }
  // References and pointers to types are good until the next value is made.
  const graph::Type& type(graph::ValueId v) const { return builder_.peek().values[v].type; }
  // Null where the value is no tensor.
  const graph::TensorType* tensor(graph::ValueId v) const { return type(v).tensor(); }
  const graph::Shape& shape(graph::ValueId v) const { return tensor(v)->shape; }
  // The node of the new function that defines `v`; null for params, and for what the visitor appended by itself and the walk
  // has not passed yet.
  const graph::Node* def(graph::ValueId v) const;
  // Whether the node that defines `v` is in the region, or the function's own list, that the walk is in.
  bool is_local(graph::ValueId v) const;
  // The constant that `v` is, or null.
  graph::ConstantPtr constant(graph::ValueId v) const;
  // How often nodes and results use `v`, never less than the truth.
  uint32_t uses(graph::ValueId v) const;
  bool used_once(graph::ValueId v) const { return uses(v) == 1; }
  bool is_result(graph::ValueId v) const;

  // Whether the loop runs exactly max(0, trip) times.
  bool is_counted(const graph::LoopParts& loop) const;
  // Symbols that are known where the visited node stands; what its regions define is not among them.
  bool is_known(expr::SymbolId s) const;
  bool is_known(graph::Dim d) const;
  // Every dim of the node's attributes, outputs and regions is known before it.
  bool has_known_dims(const graph::Node& n) const;

  // Appends a node with inferred types; the first output, or all.
  Result<graph::ValueId> make(const std::string& op, graph::Attrs attrs, std::vector<graph::ValueId> inputs,
                              const LocPtr& loc);
  Result<std::vector<graph::ValueId>> make_multi(const std::string& op, graph::Attrs attrs,
                                                 std::vector<graph::ValueId> inputs, size_t outputs, const LocPtr& loc);
  graph::ValueId make_const(graph::ConstantPtr c, const LocPtr& loc);
  // Appends a node that is made already, of a region of the visited node for one.
  void append(graph::Node n);
  // True when `by` may stand for `old`: types are the same, and a result of the function keeps memory of its own.
  bool can_replace(graph::ValueId old, graph::ValueId by) const;
  void replace(graph::ValueId old, graph::ValueId by);
  // Likewise without a look at types and results.
  void rename(graph::ValueId old, graph::ValueId by) { renames_[old] = by; }

 private:
  graph::ValueId renamed(graph::ValueId v) const;
  Status walk(const std::vector<graph::Node>& nodes, const Visit& visit);
  Status with_new_regions(graph::Node& n, const Visit& visit);
  void index_new_nodes(size_t from);
  void learn(expr::SymbolId s);
  void learn(graph::Dim d);
  void learn(const graph::Type& t);
  void learn(const graph::Node& n);

  graph::FunctionPtr f_;
  expr::Context& ctx_;
  std::string op_;
  graph::FunctionBuilder builder_;
  std::vector<uint32_t> uses_;
  std::vector<bool> is_result_;
  std::unordered_map<graph::ValueId, graph::ValueId> renames_;
  std::deque<graph::Node> kept_;  // copies that stay where they are
  std::unordered_map<graph::ValueId, const graph::Node*> defs_;
  std::unordered_map<graph::ValueId, size_t> depths_;  // open regions where a value is defined
  std::unordered_set<expr::SymbolId> known_;
  std::vector<expr::SymbolId> learned_;  // those of `known_`, in the order in which they became so
  bool changed_ = false;
};

}  // namespace pliant::passes
