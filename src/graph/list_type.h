// Types of sequences and optionals. The sizes of their elements are constants, sizes known where the value is defined, or
// `?`, the one size that every element has for itself. A value of such a type may stand wherever a wider type is expected.
#pragma once
#include <functional>
#include <optional>

#include "graph/graph.h"

namespace pliant::graph {

// The size `?`, one symbol in a Context; only in the elements of sequences and optionals.
Dim any_size(expr::Context& ctx);
bool is_any_size(Dim d);

Type make_sequence_type(Type element);
Type make_optional_type(Type element);
bool is_list(const Type& t);                  // a sequence or an optional
const Type* sequence_element(const Type& t);  // null for others
const Type* optional_element(const Type& t);
// The tensor type at the bottom of a sequence, optional or optional sequence.
const TensorType& element_of(const Type& list);
// `list` with another tensor type at the bottom.
Type with_element(const Type& list, TensorType element);

// The narrowest type that holds values of both: sizes that are not equal become `?`, ranks that differ Any. A sequence joins
// with an optional sequence to the latter. Nothing for other kinds or element types.
std::optional<Type> join_lists(const Type& a, const Type& b, expr::Context& ctx);
// Whether a value of type `from` may stand where `to` is expected.
bool fits_list(const Type& from, const Type& to, expr::Context& ctx);
// The type outside the scope in which `is_known` symbols are all there are: sizes of others become `?`.
Type widen_list(const Type& list, expr::Context& ctx, const std::function<bool(expr::SymbolId)>& is_known);

}  // namespace pliant::graph
