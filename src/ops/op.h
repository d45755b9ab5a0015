// What an operator is: described once, in one file src/ops/<family>/<name>.cc that exports `OpDef op_<family>_<name>()`.
// Its body is exactly one of
//   compute  tensor expressions: types, shapes, reference, loop nests, fusion class and cost follow from them
//   expand   a graph of other operators
//   kernel   an explicit type rule, a reference function and a runtime symbol: sorting, data-dependent counts
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "te/te.h"

namespace pliant::ops {

using graph::AttrValue;
using graph::Attrs;
using graph::Dim;
using graph::TensorType;
using graph::ValueId;

struct AttrSpec {
  std::string name;
  std::optional<AttrValue> fallback;  // nothing: required
  std::string doc;
};

// What a definition sees of one node, and what it may ask for.
class DefineContext {
 public:
  DefineContext(te::Builder& builder, const Attrs& attrs, std::vector<te::Tensor> inputs, size_t output_count, LocPtr loc)
      : builder_(builder), attrs_(attrs), inputs_(std::move(inputs)), output_count_(output_count), loc_(std::move(loc)) {}
  te::Builder& te() { return builder_; }
  expr::Context& ctx() { return builder_.ctx(); }
  const Attrs& attrs() const { return attrs_; }
  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return output_count_; }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const te::Tensor& in(size_t i) const { return inputs_[i]; }
  const std::vector<te::Tensor>& inputs() const { return inputs_; }
  const LocPtr& loc() const { return loc_; }
  Dim dim(int64_t v) { return ctx().constant(v); }
  // An axis counted from the end when negative, in [0, rank); an error at the node otherwise.
  Result<size_t> axis(int64_t axis, size_t rank) const;
  // Proved: nothing; refuted: an error with `what` and both sizes; unknown: a run-time obligation.
  Status require_equal(Dim a, Dim b, const std::string& what);
  Status require_less_equal(Dim a, Dim b, const std::string& what);
  // The shape that numpy broadcasting gives, with obligations where a size is not known to be 1 or equal.
  Result<std::vector<Dim>> broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b);
  // The element of `t` that stands at `index` of the broadcast shape. A size that may be 1 or not at run time is read at
  // `min(i, size - 1)`.
  expr::Scalar at_broadcast(const te::Tensor& t, const te::Index& index);
  Error fail(const std::string& id, const std::string& message) const;
  const std::vector<graph::Obligation>& obligations() const { return obligations_; }

 private:
  te::Builder& builder_;
  const Attrs& attrs_;
  std::vector<te::Tensor> inputs_;
  size_t output_count_;
  LocPtr loc_;
  std::vector<graph::Obligation> obligations_;
};

using ComputeFn = std::function<Result<std::vector<te::Tensor>>(DefineContext&)>;
// Appends nodes to the builder with `append` (which infers types) and returns the values that stand for the outputs.
struct ExpandContext;
using ExpandFn = std::function<Result<std::vector<ValueId>>(ExpandContext&)>;

// A kernel's output sizes may use fresh symbols, known only after it ran; their upper bounds let it write into planned memory.
struct KernelDef {
  std::function<Result<std::vector<TensorType>>(DefineContext&)> infer;
  // Reference on concrete arrays; outputs are exactly sized.
  std::function<Result<std::vector<te::Array>>(const Attrs&, const std::vector<te::ArrayView>&)> reference;
  std::string symbol;  // the runtime's name for it
};

// A sample is one use that the test matrix tries: `f32[M,N] i64[N] M=3 N=5 axis=1` gives input types over symbols, the values
// of the symbols and attributes.
struct OpDef {
  std::string name;
  std::string doc;
  std::vector<AttrSpec> attrs;
  int min_inputs = 1, max_inputs = 1;  // max -1: any number
  int outputs = 1;                     // -1: as many as the node has
  ComputeFn compute;
  ExpandFn expand;
  KernelDef kernel;
  std::vector<std::string> samples;
};

struct ExpandContext {
  graph::FunctionBuilder& builder;
  expr::Context& ctx;
  const graph::Node& node;
  // Appends one node of operator `op`, infers its types and gives its first output.
  Result<ValueId> append(const std::string& op, Attrs attrs, std::vector<ValueId> inputs);
  Result<std::vector<ValueId>> append_multi(const std::string& op, Attrs attrs, std::vector<ValueId> inputs, size_t outputs);
  const TensorType& type(ValueId v) const { return builder.peek().tensor_type(v); }
  Error fail(const std::string& id, const std::string& message) const;
};

// Every operator, by name; null when there is none. The list is generated from the file names at build time.
const OpDef* find_op(const std::string& name);
const std::vector<OpDef>& all_ops();

// Output types of one node with the obligations it gives rise to. Checks the attributes' names and kinds and the input count.
struct Inferred {
  std::vector<graph::Type> types;
  std::vector<graph::Obligation> obligations;
};
Result<Inferred> infer(const OpDef& op, const Attrs& attrs, const std::vector<graph::Type>& inputs, size_t outputs,
                       expr::Context& ctx, const LocPtr& loc);
// Appends a node of `op` to `b` with inferred types and its obligations.
Result<std::vector<ValueId>> append_node(graph::FunctionBuilder& b, expr::Context& ctx, const std::string& op, Attrs attrs,
                                         std::vector<ValueId> inputs, size_t outputs, const LocPtr& loc);
// Recomputes every node's types and compares: the type half of the graph verifier.
Status verify_types(const graph::Function& f, expr::Context& ctx);
// The reference: runs a whole function on arrays through te::evaluate, expand and the kernels' reference functions.
Result<std::vector<te::Array>> evaluate(const graph::Function& f, expr::Context& ctx, const std::vector<te::ArrayView>& inputs);

}  // namespace pliant::ops
