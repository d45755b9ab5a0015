// What an operator is: described once, in one file src/ops/<family>/<name>.cc that exports `OpDef op_<family>_<name>()`.
// Its body is exactly one of
//   compute  tensor expressions: types, shapes, reference, loop nests, fusion class and cost follow from them
//   expand   a graph of other operators
//   kernel   an explicit type rule, a reference function and a runtime symbol: sorting, data-dependent counts
//   list     the same for sequences and optionals
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "te/te.h"

namespace pliant::ops {

using graph::Attrs;
using graph::AttrValue;
using graph::Dim;
using graph::TensorType;
using graph::ValueId;

// The kinds of attributes, in the order of AttrValue's alternatives.
enum class AttrKind : uint8_t { Int, Float, Bool, String, DType, Ints, Floats, Strings, Dim, Dims, Const };
const char* name_of(AttrKind k);

struct AttrSpec {
  std::string name;
  std::optional<AttrValue> fallback;  // nothing: required, unless `may_be_absent`
  std::string doc;
  AttrKind kind = AttrKind::Int;
  bool may_be_absent = false;
};
AttrSpec attr(std::string name, AttrValue fallback, std::string doc = "");
AttrSpec required_attr(std::string name, AttrKind kind, std::string doc = "");
AttrSpec optional_attr(std::string name, AttrKind kind, std::string doc = "");

std::vector<AttrSpec> operator+(std::vector<AttrSpec> a, std::vector<AttrSpec> b);

// Reads attributes by the names and kinds of an operator's specification. What is left out is what `defaults` says; with
// null, for attributes that `normalise_attrs` has filled in, it may not be. A missing one or the wrong kind is a
// PLIANT_CHECK.
struct AttrReader {
  const Attrs& attrs;
  const std::vector<AttrSpec>* defaults = nullptr;
  bool has(const std::string& name) const { return attrs.has(name); }
  int64_t as_int(const std::string& name) const;
  double as_float(const std::string& name) const;
  bool as_bool(const std::string& name) const;
  const std::string& as_string(const std::string& name) const;
  DType as_dtype(const std::string& name) const;
  const std::vector<int64_t>& as_ints(const std::string& name) const;
  const std::vector<double>& as_floats(const std::string& name) const;
  const std::vector<std::string>& as_strings(const std::string& name) const;
  Dim as_dim(const std::string& name) const;
  const std::vector<Dim>& as_dims(const std::string& name) const;
};

// A condition on data that must hold before the outputs are computed: `ok` (Bool) at each of its points, otherwise the run
// stops with `message` at the node, in which {0}, {1} … stand for `values`, Dims over ok->index. Lowering makes loop Checks
// of it that run before the loads that it guards.
struct DataCheck {
  te::Tensor ok;
  std::string message;
  std::vector<Dim> values;
};

// What a definition sees of one node, and what it may ask for.
class DefineContext {
 public:
  DefineContext(te::Builder& builder, const Attrs& attrs, std::vector<te::Tensor> inputs, size_t output_count, LocPtr loc)
      : builder_(builder), attrs_(attrs), inputs_(std::move(inputs)), output_count_(output_count), loc_(std::move(loc)) {}
  te::Builder& te() { return builder_; }
  expr::Context& ctx() { return builder_.ctx(); }
  const Attrs& attrs() const { return attrs_; }
  AttrReader attr() const { return {attrs_}; }
  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return output_count_; }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const te::Tensor& in(size_t i) const { return inputs_[i]; }
  const std::vector<te::Tensor>& inputs() const { return inputs_; }
  const LocPtr& loc() const { return loc_; }
  Dim dim(int64_t v) { return ctx().constant(v); }
  // An axis counted from the end when negative, in [0, rank); an error at the node otherwise.
  Result<size_t> axis(int64_t axis, size_t rank) const;
  // Proved: nothing; refuted: an error with `what` and both sizes; unknown: a run-time shape constraint.
  Status require_equal(Dim a, Dim b, const std::string& what);
  Status require_less_equal(Dim a, Dim b, const std::string& what);
  // The shape that numpy broadcasting gives, with constraints where a size is not known to be 1 or equal.
  Result<std::vector<Dim>> broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b);
  // The element of `t` that stands at `index` of the broadcast shape. A size that may be 1 or not at run time is read at
  // `i * max(0, min(1, size - 1))`.
  expr::Scalar at_broadcast(const te::Tensor& t, const te::Index& index);
  Error fail(DiagnosticId id, const std::string& message) const;
  Status require_same_dtype(size_t a, size_t b) const;
  // A size known only after the node ran, in [0, upper].
  Dim fresh_dim(const std::string& name, Dim upper);
  // Every element of `indices` lies in [-limit, limit); `what` names the axis in the message.
  void check_index(const te::Tensor& indices, Dim limit, const std::string& what);
  void add_check(DataCheck check) { checks_.push_back(std::move(check)); }
  const std::vector<graph::ShapeConstraint>& constraints() const { return constraints_; }
  const std::vector<DataCheck>& checks() const { return checks_; }

 private:
  te::Builder& builder_;
  const Attrs& attrs_;
  std::vector<te::Tensor> inputs_;
  size_t output_count_;
  LocPtr loc_;
  std::vector<graph::ShapeConstraint> constraints_;
  std::vector<DataCheck> checks_;
};

using ComputeFn = std::function<Result<std::vector<te::Tensor>>(DefineContext&)>;
// Appends nodes to the builder with `append` (which infers types) and returns the values that stand for the outputs.
struct ExpandContext;
using ExpandFn = std::function<Result<std::vector<ValueId>>(ExpandContext&)>;

// A kernel's output sizes may use fresh symbols, known only after it ran; their upper bounds let it write into planned
// memory.
struct KernelDef {
  std::function<Result<std::vector<TensorType>>(DefineContext&)> infer;
  // Reference on concrete arrays; outputs are exactly sized. Dims in the attributes are constants here; an absent input is a
  // view without data. The error needs no location.
  std::function<Result<std::vector<te::Array>>(const Attrs&, const std::vector<te::ArrayView>&)> reference;
  std::string symbol;  // the runtime's name for it
  // The integers that the runtime function gets (docs/operators.md); floats as the bits of an f64.
  std::function<std::vector<Dim>(DefineContext&)> ints;
};

// A value of the reference: a tensor, or a list for a sequence or an optional. An optional tensor is a list of at most one;
// an optional without a value is absent, which an empty sequence is not.
struct ListValue {
  bool is_present = true;
  std::vector<std::shared_ptr<const te::Array>> elements;
};
struct Datum {
  te::Array array;
  std::shared_ptr<const ListValue> list;  // null for a tensor
};
// An operator that takes or gives sequences or optionals. The reference gets concrete attributes, as a kernel's does; an
// absent input is an array without data. An output size that the inputs' types do not say is a fresh symbol.
struct ListContext;
struct ListDef {
  std::function<Result<std::vector<graph::Type>>(ListContext&)> infer;
  std::function<Result<std::vector<Datum>>(const Attrs&, const std::vector<Datum>&)> reference;
};

// A sample is one use that the test matrix tries: `f32[M,N] i64[N] M=3 N=5 axis=1` gives input types over symbols, the
// values of the symbols and attributes.
struct OpDef {
  std::string name;
  std::string doc;
  std::vector<AttrSpec> attrs;
  int min_inputs = 1, max_inputs = 1;     // max -1: any number
  int outputs = 1;                        // -1: as many as the node has
  std::vector<size_t> optional_inputs{};  // those before min_inputs that may be absent
  ComputeFn compute;
  ExpandFn expand;
  KernelDef kernel;
  std::vector<std::string> samples;
  ListDef list;
};

struct ExpandContext {
  graph::FunctionBuilder& builder;
  expr::Context& ctx;
  const graph::Node& node;  // attributes filled in; of the outputs only their number is meant
  // Appends one node of operator `op`, infers its types and gives its first output.
  Result<ValueId> append(const std::string& op, Attrs attrs, std::vector<ValueId> inputs);
  Result<std::vector<ValueId>> append_multi(const std::string& op, Attrs attrs, std::vector<ValueId> inputs, size_t outputs);
  // A constant of rank 0.
  ValueId scalar(DType t, double v);
  AttrReader attr() const { return {node.attrs}; }
  bool has(size_t i) const { return i < node.inputs.size() && node.inputs[i] != graph::kNoValue; }
  const TensorType& type(ValueId v) const { return builder.peek().tensor_type(v); }
  Error fail(DiagnosticId id, const std::string& message) const;
};

// Every operator, by name; null when there is none. The list is generated from the file names at build time.
const OpDef* find_op(const std::string& name);
// The attributes of a node of an operator that is defined, as its passes read them.
AttrReader attrs_of(const graph::Node& n);
const std::vector<OpDef>& all_ops();

// Checks the attributes' names and kinds, fills in defaults and turns plain integers into dims where those are meant.
Result<Attrs> normalise_attrs(const OpDef& op, const Attrs& attrs, expr::Context& ctx, const LocPtr& loc);

// One node as tensor expressions: what lowering works on. inputs[i] stands for node.inputs[i] and is null where that is
// absent. Covers operators with a compute body, `core.const` of at most 16 elements and groups of those (`core.kernel`).
// Operators with an expand body have been expanded before, and a library call has no tensor expressions: both are a
// PLIANT_CHECK.
struct Defined {
  std::vector<te::Tensor> inputs, outputs;
  std::vector<graph::ShapeConstraint> constraints;
  std::vector<DataCheck> checks;
};
Result<Defined> define(const graph::Function& f, const graph::Node& node, te::Builder& builder);
// Runs `op`'s expand body on `node` (of a function that `b` rewrites): the values that stand for the node's outputs.
Result<std::vector<ValueId>> expand_node(graph::FunctionBuilder& b, expr::Context& ctx, const OpDef& op,
                                         const graph::Node& node);

// Output types of one node with the constraints it gives rise to. Checks the attributes' names and kinds and the input
// count.
struct Inferred {
  std::vector<graph::Type> types;
  std::vector<graph::ShapeConstraint> constraints;
};
Result<Inferred> infer(const OpDef& op, const Attrs& attrs, const std::vector<graph::Type>& inputs, size_t outputs,
                       expr::Context& ctx, const LocPtr& loc);
// Appends a node of `op` to `b` with inferred types and its constraints.
Result<std::vector<ValueId>> append_node(graph::FunctionBuilder& b, expr::Context& ctx, const std::string& op, Attrs attrs,
                                         std::vector<ValueId> inputs, size_t outputs, const LocPtr& loc);
// Recomputes every node's types and compares: the type half of the graph verifier. Calls are checked where the module is
// given.
Status verify_types(const graph::Function& f, expr::Context& ctx, const graph::Module* module = nullptr);
// The reference: runs a whole function on arrays through te::evaluate, expand, the kernels' reference functions and the
// regions. A function with core.call needs its module. Faults in a loop name the iteration.
Result<std::vector<te::Array>> evaluate(const graph::Function& f, expr::Context& ctx,
                                        const std::vector<te::ArrayView>& inputs, const graph::Module* module = nullptr);
// The same where inputs or results are sequences or optionals.
Result<std::vector<Datum>> evaluate_data(const graph::Function& f, expr::Context& ctx, std::vector<Datum> inputs);

}  // namespace pliant::ops
