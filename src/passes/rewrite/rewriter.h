// One walk over a function that builds the next one: what every rewriting pass is made of.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "passes/names.h"

namespace pliant::passes {

// A pass visits each node in order, or each of one operator, after the nodes in its regions, with inputs already renamed to
// the values of the new function and the builder open where the node stands. It may append nodes there, change the node, and
// let other values stand for its outputs.
class Rewriter {
 public:
  // Drop: every output that is used was replaced or renamed, or something else defines it.
  enum class Action { Keep, Change, Drop };
  using Visit = std::function<Result<Action>(Node&)>;

  // Visits the nodes of `op`, or all where it is empty.
  Rewriter(const FunctionPtr& f, expr::Context& ctx, std::string op = "");
  // The function after the walk; the same pointer when every node was kept.
  Result<FunctionPtr> run(const Visit& visit);

  expr::Context& ctx() const { return ctx_; }
  FunctionBuilder& builder() { return builder_; }
  // References and pointers to types are good until the next value is made.
  const Type& type(ValueId v) const { return builder_.peek().values[v].type; }
  // Null where the value is no tensor.
  const TensorType* tensor(ValueId v) const { return type(v).tensor(); }
  const Shape& shape(ValueId v) const { return tensor(v)->shape; }
  // The node of the new function that defines `v`; null for params, and for what the visitor appended by itself and the walk
  // has not passed yet.
  const Node* def(ValueId v) const;
  // Whether the node that defines `v` is in the region, or the function's own list, that the walk is in.
  bool is_local(ValueId v) const;
  // The constant that `v` is, or null.
  ConstantPtr constant(ValueId v) const;
  // How often nodes and results use `v`, never less than the truth.
  uint32_t uses(ValueId v) const;
  bool used_once(ValueId v) const { return uses(v) == 1; }
  bool is_result(ValueId v) const;

  // Whether the loop runs exactly max(0, trip) times.
  bool is_counted(const LoopParts& loop) const;
  // Symbols that are known where the visited node stands; what its regions define is not among them.
  bool is_known(expr::SymbolId s) const;
  bool is_known(Dim d) const;
  // Every dim of the node's attributes, outputs and regions is known before it.
  bool has_known_dims(const Node& n) const;

  // Appends a node with inferred types; the first output, or all.
  Result<ValueId> make(const std::string& op, Attrs attrs, std::vector<ValueId> inputs, const LocPtr& loc);
  Result<std::vector<ValueId>> make_multi(const std::string& op, Attrs attrs, std::vector<ValueId> inputs, size_t outputs,
                                          const LocPtr& loc);
  ValueId make_const(ConstantPtr c, const LocPtr& loc);
  Result<ValueId> make_zeros(DType dtype, Shape shape, const LocPtr& loc);
  // Appends a node that is made already, of a region of the visited node for one.
  void append(Node n);
  // True when `by` may stand for `old`: types are the same, and a result of the function keeps memory of its own.
  bool can_replace(ValueId old, ValueId by) const;
  void replace(ValueId old, ValueId by);
  // Likewise for any tensor of as many elements, which is reshaped or copied where it has to be.
  Status put(ValueId old, ValueId by, const LocPtr& loc);
  // Like replace(), without a look at types and results.
  void rename(ValueId old, ValueId by);

 private:
  ValueId renamed(ValueId v) const;
  Status walk(const std::vector<Node>& nodes, const Visit& visit);
  Status with_new_regions(Node& n, const Visit& visit);
  void index_new_nodes(size_t from);
  void learn(expr::SymbolId s);
  void learn(Dim d);
  void learn(const Type& t);
  void learn(const Node& n);

  FunctionPtr f_;
  expr::Context& ctx_;
  std::string op_;
  FunctionBuilder builder_;
  std::vector<uint32_t> uses_;
  std::vector<bool> is_result_;
  std::unordered_map<ValueId, ValueId> renames_;
  std::deque<Node> kept_;  // copies that stay where they are
  std::unordered_map<ValueId, const Node*> defs_;
  std::unordered_map<ValueId, size_t> depths_;  // open regions where a value is defined
  std::unordered_set<expr::SymbolId> known_;
  std::vector<expr::SymbolId> learned_;  // those of `known_`, in the order in which they became so
  bool changed_ = false;
};

}  // namespace pliant::passes
