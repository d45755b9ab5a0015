// Optionals. One that is known to hold something, or nothing, is no value of its own.
#include "frontend/onnx/list_values.h"
#include "graph/list_type.h"

namespace pliant::frontend::onnx {
namespace {

using graph::Type;

Refs optional(Conversion& c) {
  if (c.has(0)) {
    if (graph::optional_element(c.value(0).type) != nullptr) return one(c.ref(0));
    return one(make_parts(c, graph::make_optional_type(c.value(0).type), {true, {c.ref(0)}}));
  }
  const AttributeProto* type = c.attr("type");
  if (type == nullptr || !type->type_proto) return c.fail("missing-input", "neither its input nor its type is given");
  const TypeProto* t = type->type_proto.get();
  bool is_sequence = t->kind == TypeProto::Kind::Sequence;
  if (is_sequence) t = t->element.get();
  auto dtype = t != nullptr && t->kind == TypeProto::Kind::Tensor ? dtype_of(t->elem_type) : std::nullopt;
  if (!dtype) return c.fail("unsupported-type", "optionals of this type are not supported");
  Type element{TensorType{*dtype, {}, graph::Rank::None}};
  if (is_sequence) element = graph::make_sequence_type(std::move(element));
  return one(make_parts(c, graph::make_optional_type(std::move(element)), {false, {}}));
}

Refs optional_get_element(Conversion& c) {
  if (graph::optional_element(c.value(0).type) == nullptr) return one(c.ref(0));
  if (const Parts* p = parts(c, 0); p != nullptr && p->is_present) return one(p->elements[0]);
  Attrs attrs;
  if (graph::optional_element(c.value(0).type)->tensor() != nullptr) {
    if (holds_nothing(c, 0)) return c.always_fails("the optional never holds a tensor");
    add_rank(c, 0, attrs);
  }
  return one(c, TRY(c.append("opt.get", std::move(attrs), {c.in(0)})));
}

Refs optional_has_element(Conversion& c) {
  if (!c.has(0)) return one(make_known(c, DType::Bool, 0));
  if (graph::optional_element(c.value(0).type) == nullptr) return one(make_known(c, DType::Bool, 1));
  if (const Parts* p = parts(c, 0)) return one(make_known(c, DType::Bool, p->is_present ? 1 : 0));
  return one(c, TRY(c.append("opt.has", {}, {c.in(0)})));
}

}  // namespace

Rows optional_rows() {
  return {
      list_row("Optional", 15, 0, &optional),
      list_row("OptionalGetElement", 15, 1, &optional_get_element),
      list_row("OptionalHasElement", 15, 0, &optional_has_element),
  };
}

}  // namespace pliant::frontend::onnx
