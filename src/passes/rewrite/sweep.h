// One walk over a function that builds the next one: what every rewriting pass is made of.
#pragma once
#include <deque>
#include <functional>
#include <unordered_map>

#include "graph/graph.h"

namespace pliant::passes {

// A pass visits each node in order, regions inside their node, with inputs already renamed to the values of the new
// function. It may append nodes (`make`) and let values of them stand for the node's outputs (`replace`); what it does not
// replace is kept as it is.
class Sweep {
 public:
  enum class Action { Keep, Drop };  // Drop: every output was replaced
  using Visit = std::function<Result<Action>(const graph::Node&)>;

  Sweep(const graph::FunctionPtr& f, expr::Context& ctx);
  // The function after the walk; the same pointer when nothing was replaced.
  Result<graph::FunctionPtr> run(const Visit& visit);

  expr::Context& ctx() const { return ctx_; }
  graph::FunctionBuilder& builder() { return builder_; }
  // References and pointers to types are good until the next value is made.
  const graph::Type& type(graph::ValueId v) const { return builder_.peek().values[v].type; }
  // Null where the value is no tensor.
  const graph::TensorType* tensor(graph::ValueId v) const { return type(v).tensor(); }
  // The node of the new function that defines `v`; null for params.
  const graph::Node* def(graph::ValueId v) const;
  // Whether the node that defines `v` is in the region, or the function's own list, that the walk is in.
  bool is_local(graph::ValueId v) const;
  // The constant that `v` is, or null.
  graph::ConstantPtr constant(graph::ValueId v) const;
  // How often nodes and results use `v`, never less than the truth.
  uint32_t uses(graph::ValueId v) const;
  bool used_once(graph::ValueId v) const { return uses(v) == 1; }
  bool is_result(graph::ValueId v) const;

  // Appends a node with inferred types; the first output, or all.
  Result<graph::ValueId> make(const std::string& op, graph::Attrs attrs, std::vector<graph::ValueId> inputs,
                              const LocPtr& loc);
  Result<std::vector<graph::ValueId>> make_multi(const std::string& op, graph::Attrs attrs,
                                                 std::vector<graph::ValueId> inputs, size_t outputs, const LocPtr& loc);
  graph::ValueId make_const(graph::ConstantPtr c, const LocPtr& loc);
  // True when `by` may stand for `old`: types are the same, and a result of the function keeps memory of its own.
  bool can_replace(graph::ValueId old, graph::ValueId by) const;
  void replace(graph::ValueId old, graph::ValueId by);

 private:
  graph::ValueId renamed(graph::ValueId v) const;
  Status walk(const std::vector<graph::Node>& nodes, const Visit& visit);
  Result<graph::Node> with_new_regions(graph::Node n, const Visit& visit);
  void index_new_nodes(size_t from);

  graph::FunctionPtr f_;
  expr::Context& ctx_;
  graph::FunctionBuilder builder_;
  std::vector<uint32_t> uses_;
  std::vector<bool> is_result_;
  std::unordered_map<graph::ValueId, graph::ValueId> renames_;
  std::deque<graph::Node> kept_;  // copies that stay where they are
  std::unordered_map<graph::ValueId, const graph::Node*> defs_;
  std::unordered_map<graph::ValueId, size_t> depths_;  // open regions where a value is defined
  bool changed_ = false;
};

}  // namespace pliant::passes
