// What the definitions of operators on sequences and optionals share: their context, positions, and lists of the reference.
#pragma once
#include "graph/list_type.h"
#include "ops/op.h"

namespace pliant::ops {

using graph::Type;
using Types = Result<std::vector<Type>>;
using Data = Result<std::vector<Datum>>;

struct ListContext {
  expr::Context& ctx;
  const Attrs& attrs;               // filled in
  const std::vector<Type>& inputs;  // an absent one is an empty tuple
  size_t output_count;
  LocPtr loc;

  AttrReader attr() const { return {attrs}; }
  bool has(size_t i) const { return i < inputs.size() && (inputs[i].tensor() != nullptr || graph::is_list(inputs[i])); }
  Error fail(DiagnosticId id, const std::string& message) const { return make_error(id, describe(loc), message); }
  Result<TensorType> tensor(size_t i) const;
  Result<Type> sequence(size_t i) const;  // the type of its elements
  Result<Type> optional(size_t i) const;
  // A position: the attribute `position`, or integer input `i` of one element. Not both.
  Status check_position(size_t i) const;
  // The type of one element: its sizes `?` become fresh symbols. Where the list's type leaves the rank open, the attribute
  // `rank` says it, and is checked when the element is read; without it: an error that says what to do.
  Result<TensorType> read(const TensorType& element) const;
  Dim fresh_dim() const;
  // An axis counted from the end when negative, in [0, rank).
  Result<size_t> axis(int64_t axis, size_t rank) const;
};

AttrSpec position_attr(const std::string& doc);
AttrSpec rank_attr();
using Elements = std::vector<std::shared_ptr<const te::Array>>;
Datum make_list(Elements elements);
Datum make_absent();
Datum make_tensor(te::Array a);
inline te::ArrayView view_of(const te::Array& a) { return {a.dtype, a.shape, a.data.data()}; }
// The position that attribute or input `i` gives, nothing where neither does.
std::optional<int64_t> position_of(const Attrs& attrs, const std::vector<Datum>& in, size_t i);
// A position counted from the end when negative, in [0, count); the fault says what it was.
Result<size_t> place_in(int64_t position, size_t count);
Error run_fault(const std::string& message);

}  // namespace pliant::ops
