// Values that converters of sequences and optionals give.
#pragma once
#include "frontend/onnx/table.h"

namespace pliant::frontend::onnx {

using Refs = Result<std::vector<ValueRef>>;

ValueRef make_known(Conversion& c, DType t, int64_t n);  // a scalar
ValueRef make_parts(Conversion& c, graph::Type type, Parts parts);
inline Refs one(ValueRef v) { return std::vector<ValueRef>{std::move(v)}; }
inline Refs one(Conversion& c, ValueId id) { return one(value_of(c, id)); }

// The parts of input i, or null.
inline const Parts* parts(Conversion& c, size_t i) { return c.value(i).parts.get(); }

// Whether nothing is ever put into the list, or the optional, that input i is.
bool holds_nothing(Conversion& c, size_t i);

// The attribute `rank` for reading an element of list input 0 whose type leaves the rank open, where the model declares it
// for the list or for output 0, which has `more` axes than the element.
void add_rank(Conversion& c, int64_t more, Attrs& attrs);

Row list_row(std::string_view op, int64_t since, size_t required, ListFn list);

}  // namespace pliant::frontend::onnx
