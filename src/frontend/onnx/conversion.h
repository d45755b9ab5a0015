// What converting one ONNX node sees and may do. A converter reads inputs and attributes and appends graph nodes; a folder
// works on known elements instead and appends nothing.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/onnx/facts.h"
#include "frontend/onnx/known.h"
#include "frontend/onnx/model.h"
#include "frontend/onnx/tensor_data.h"
#include "graph/graph.h"
#include "ops/op.h"

namespace pliant::frontend::onnx {

using graph::Attrs;
using graph::kNoValue;
using graph::TensorType;
using graph::ValueId;

struct Frame;
struct Value;
using ValueRef = std::shared_ptr<Value>;

// A sequence or optional known by what it holds: the elements of a sequence, what an optional holds if it holds something.
struct Parts {
  bool is_present = true;
  std::vector<ValueRef> elements;
};

// One value of the ONNX model. It is known as a graph value, as a constant, by its elements, or several of these; the graph
// value is made when a node first needs it.
struct Value {
  std::string name;
  graph::Type type;
  ValueId id = kNoValue;
  std::vector<std::pair<uint32_t, ValueId>> made;  // graph values made in an arm or body, by its number
  graph::ConstantPtr constant;
  std::shared_ptr<const Known> known;
  std::shared_ptr<const Parts> parts;
  const TensorProto* pending = nullptr;  // an initialiser that nothing has used yet
  bool is_initializer = false;
  bool broken = false;  // the node that makes it was reported; what uses it is passed over in silence
  LocPtr loc;
};

// Attributes that a function's body refers to, by the function's attribute names.
using AttributeEnv = std::map<std::string_view, const AttributeProto*>;

using Values = std::vector<ValueId>;

// An arm or body that is being imported. What is made of values of enclosing graphs in it, and what is learned of their
// elements, holds there only.
struct OpenRegion {
  uint32_t number;
  std::unordered_map<Dim, Dim> named_outside;
  std::vector<std::pair<ValueRef, std::shared_ptr<const Known>>> learned;  // with what was known before
};

// State shared by the conversions of one import.
struct ImportState {
  const ModelProto& model;
  expr::Context& ctx;
  graph::FunctionBuilder builder;
  TensorLoader loader;
  std::vector<Diagnostic> errors;
  std::vector<OpenRegion> regions{};
  Facts facts{};
  // What the node being converted has to know: it is imported once where this holds and once where it does not.
  std::optional<Dim> undecided{};
  std::map<std::string, LocPtr> failing{};  // nodes that fail whenever they run, by how messages name them
  // Sizes that were too large to be written out wherever they are used, and the symbols that stand for them.
  std::unordered_map<Dim, Dim> named_sizes{};
  uint32_t region_count = 0;
  bool is_open(uint32_t region) const;
  void enter_region() { regions.push_back({++region_count, named_sizes, {}}); }
  void leave_region();
  void learn(const ValueRef& v, Known k);
};

// How many sizes a tensor of sizes holds where its type does not tell: `expected`, which is then checked, or each number
// from 0 to `most` in a branch of its own.
struct SizeCount {
  std::optional<int64_t> expected{};
  int64_t most = INT64_MAX;
};

class Conversion {
 public:
  Conversion(ImportState& state, const NodeProto& node_proto, int64_t opset_version, LocPtr node_loc,
             std::vector<ValueRef> node_inputs, const AttributeEnv* env, const Frame* frame)
      : node(node_proto),
        opset(opset_version),
        loc(std::move(node_loc)),
        state_(state),
        inputs_(std::move(node_inputs)),
        env_(env),
        frame_(frame) {}

  const NodeProto& node;
  const int64_t opset;  // of the node's domain
  const LocPtr loc;
  expr::Context& ctx() { return state_.ctx; }
  ImportState& state() { return state_; }

  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return node.outputs.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  // Whether output i is asked for.
  bool wants(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  const Value& value(size_t i) const { return *inputs_[i]; }
  const ValueRef& ref(size_t i) const { return inputs_[i]; }
  // The graph value of input i, made now if need be; kNoValue when it is absent.
  ValueId in(size_t i);
  Values all_inputs();
  const TensorType& type(size_t i) const { return *inputs_[i]->type.tensor(); }
  DType dtype(size_t i) const { return type(i).dtype; }
  const graph::Shape& shape(size_t i) const { return type(i).shape; }
  int64_t rank(size_t i) const { return static_cast<int64_t>(type(i).shape.size()); }

  // Known elements, or null.
  const Known* known(size_t i);
  // The constant elements of input i as integers, or an error that says what needs them.
  Result<std::vector<int64_t>> const_ints(size_t i, const std::string& what);
  Result<int64_t> const_int(size_t i, const std::string& what);
  // The constant float elements of input i.
  Result<std::vector<double>> const_reals(size_t i, const std::string& what);
  // The elements of integer input i as sizes: the known ones, or symbols that a core.read_dims defines.
  Result<std::vector<Dim>> dims(size_t i, const std::string& what, SizeCount count = {});
  // How many elements input i has; a number.
  Result<int64_t> size_count(size_t i, const std::string& what, SizeCount count);
  Result<Dim> dim(size_t i, const std::string& what);
  // Likewise of a graph value made by this conversion, whose elements are known to lie in `range`.
  Result<std::vector<Dim>> read_dims(ValueId v, const std::string& what, expr::Interval range = {INT64_MIN, expr::kNoLimit});
  Result<std::vector<Dim>> read_dims(ValueId v, const std::string& what, int64_t lo) {
    return read_dims(v, what, expr::Interval{lo, expr::kNoLimit});
  }

  // Whether the condition, 0 or 1, holds in every run that comes here.
  std::optional<bool> decide(Dim condition) { return onnx::decide(condition, state_.facts, ctx()); }
  // The node can not be converted without knowing whether the condition holds: what to return. The error is reported where
  // the node cannot be imported for both cases. Nothing may have been required before.
  Error undecided(Dim condition, const std::string& id, const std::string& message);
  // The node fails whenever it runs: what to return. It is no fault of a model whose run does not come here.
  Error always_fails(const std::string& message);
  // The rank that the model declares for output k, in the graph around the node or where that graph gives it on.
  std::optional<int64_t> declared_rank(size_t k) const;

  // Attributes. One of the wrong kind is noted, and reported after the conversion.
  bool has_attr(std::string_view name) { return attr(name) != nullptr; }
  const AttributeProto* attr(std::string_view name) const;
  int64_t int_attr(std::string_view name, int64_t fallback);
  bool bool_attr(std::string_view name, bool fallback) { return int_attr(name, fallback) != 0; }
  double float_attr(std::string_view name, double fallback);
  std::string string_attr(std::string_view name, const std::string& fallback);
  std::vector<int64_t> ints_attr(std::string_view name, std::vector<int64_t> fallback);
  std::vector<double> floats_attr(std::string_view name, std::vector<double> fallback);
  std::vector<std::string> strings_attr(std::string_view name);
  // An ONNX element type attribute.
  Result<DType> dtype_attr(std::string_view name, DType fallback);
  Result<graph::ConstantPtr> tensor_attr(std::string_view name);
  const std::optional<Error>& attr_error() const { return attr_error_; }

  // Appends one node and gives its output; `append_multi` gives all.
  Result<ValueId> append(const std::string& op, Attrs attrs, Values inputs);
  Result<Values> append_multi(const std::string& op, Attrs attrs, Values inputs, size_t outputs);
  ValueId constant(graph::ConstantPtr c);
  // A constant of rank 0.
  ValueId scalar(DType t, double v);
  // The same value when the type is right.
  Result<ValueId> cast(ValueId v, DType to);
  Result<ValueId> reshape(ValueId v, std::vector<Dim> dims_of_result);
  // `v`, which has to hold one element, with axes that are known to be 1.
  Result<ValueId> one_element(ValueId v, const std::string& message);
  // An i64 tensor [n] of these sizes.
  Result<ValueId> from_dims(std::vector<Dim> values);
  const TensorType& type_of(ValueId v) const { return state_.builder.peek().tensor_type(v); }
  const graph::Shape& shape_of(ValueId v) const { return type_of(v).shape; }
  Dim num(int64_t v) { return state_.ctx.constant(v); }
  // `d`, or a symbol in place of one that is too large to be written out wherever it is used: it is computed and read once.
  Result<Dim> settled(Dim d);
  // `v` with an axis for each of its own, of settled sizes.
  Result<ValueId> with_settled_sizes(ValueId v);
  // The product of all dims of a shape.
  Dim count(const graph::Shape& s) { return expr::product(state_.ctx, s); }
  void require_equal(Dim a, Dim b, const std::string& message);
  void require_less_equal(Dim a, Dim b, const std::string& message);

  Error fail(const std::string& id, const std::string& message) const;
  // An axis in [0, rank).
  Result<int64_t> axis(int64_t a, int64_t rank) const;
  Result<std::vector<int64_t>> axes(std::vector<int64_t> a, int64_t rank) const;

 private:
  void wrong_kind(std::string_view name, const char* wanted);
  ImportState& state_;
  std::vector<ValueRef> inputs_;
  const AttributeEnv* env_;
  const Frame* frame_;
  std::optional<Error> attr_error_;
};

// Whether it is no more than that some node fails whenever it runs.
bool always_fails(const Error& e);
// A value of the model that is the graph value `id`, and one that is known by its elements.
ValueRef value_of(Conversion& c, ValueId id, std::string_view name = {});
ValueRef known_value(Conversion& c, Known k, std::string_view name = {});
// The graph value of `v`, made where the builder stands if there is none yet.
ValueId materialise(ImportState& state, Value& v);
// Appends a node and its obligations; errors carry the location.
Result<Values> append_nodes(ImportState& state, const std::string& op, Attrs attrs, Values inputs, size_t outputs,
                            const LocPtr& loc);

}  // namespace pliant::frontend::onnx
