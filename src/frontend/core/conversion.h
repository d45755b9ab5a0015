// What converting one node of a model sees and may do: it reads inputs and appends graph nodes, or works on known elements
// and appends nothing. A frontend adds how its nodes name their attributes.
#pragma once
#include "frontend/core/value.h"

namespace pliant::frontend {

// How many sizes a tensor of sizes holds where its type does not tell: `expected`, which is then checked, or each number
// from 0 to `most` in a branch of its own.
struct SizeCount {
  std::optional<int64_t> expected{};
  int64_t most = INT64_MAX;
};

class Conversion {
 public:
  Conversion(ImportState& state, LocPtr node_loc, std::vector<ValueRef> node_inputs)
      : loc(std::move(node_loc)), state_(state), inputs_(std::move(node_inputs)) {}

  const LocPtr loc;
  expr::Context& ctx() { return state_.ctx; }
  ImportState& state() { return state_; }

  size_t input_count() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
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
  std::optional<bool> decide(Dim condition) { return frontend::decide(condition, state_.facts, ctx()); }
  // The node can not be converted without knowing whether the condition holds: what to return. The error is reported where
  // the node cannot be imported for both cases. Nothing may have been required before.
  Error undecided(Dim condition, DiagnosticId id, const std::string& message);
  // The node fails whenever it runs: what to return. It is no fault of a model whose run does not come here.
  Error always_fails(const std::string& message);

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
  Result<Dim> named(Dim d);
  // `v` with an axis for each of its own, of named sizes.
  Result<ValueId> with_named_sizes(ValueId v);
  // The product of all dims of a shape.
  Dim count(const graph::Shape& s) { return expr::product(state_.ctx, s); }
  void require_equal(Dim a, Dim b, const std::string& message);
  void require_less_equal(Dim a, Dim b, const std::string& message);

  Error fail(DiagnosticId id, const std::string& message) const;
  // An axis in [0, rank).
  Result<int64_t> axis(int64_t a, int64_t rank) const;
  Result<std::vector<int64_t>> axes(std::vector<int64_t> a, int64_t rank) const;

 private:
  ImportState& state_;
  std::vector<ValueRef> inputs_;
};

// Whether it is no more than that some node fails whenever it runs.
bool always_fails(const Error& e);
// A value of the model that is the graph value `id`, and one that is known by its elements.
ValueRef value_of(Conversion& c, ValueId id, std::string_view name = {});
ValueRef known_value(Conversion& c, Known k, std::string_view name = {});

}  // namespace pliant::frontend
