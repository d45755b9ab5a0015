// Sequences. A list whose elements are known stays the list of its elements for as long as positions are known
// too: then no list is made at all.
#include <algorithm>

#include "frontend/onnx/list_values.h"
#include "graph/list_type.h"

namespace pliant::frontend::onnx {
namespace {

using graph::Type;

// More pieces than these are not kept apart.
constexpr int64_t kMostPieces = 64;

// A sequence of these; `dtype` is that of an empty one.
Result<ValueRef> make_sequence(Conversion& c, DType dtype, std::vector<ValueRef> elements) {
  Type element{TensorType{dtype, {}, graph::Rank::None}};
  for (const ValueRef& e : elements) {
    std::optional<Type> joined = e->type.tensor() != nullptr ? graph::join_lists(element, e->type, c.ctx()) : std::nullopt;
    if (!joined)
      return c.fail("wrong-type", "a sequence of " + print(element) + " cannot hold '" + e->name + "', " + print(e->type));
    element = std::move(*joined);
  }
  return make_parts(c, graph::make_sequence_type(std::move(element)), {true, std::move(elements)});
}

Status require_sequence(Conversion& c, size_t i) {
  if (graph::sequence_element(c.value(i).type) != nullptr) return ok();
  return c.fail("wrong-type", "input '" + c.value(i).name + "' is " + print(c.value(i).type) + ", not a sequence");
}

Status require_tensor(Conversion& c, size_t i) {
  if (c.value(i).type.tensor() != nullptr) return ok();
  return c.fail("wrong-type", "input '" + c.value(i).name + "' is " + print(c.value(i).type) + ", not a tensor");
}

// A position: known, as a Dim; or nothing, for a tensor or none at all.
std::optional<Dim> known_position(Conversion& c, size_t i) {
  const Known* k = c.has(i) && c.value(i).type.tensor() != nullptr ? c.known(i) : nullptr;
  auto dims = k != nullptr ? k->dims() : std::nullopt;
  return dims && dims->size() == 1 ? std::optional((*dims)[0]) : std::nullopt;
}

// The place among `count` that a constant position is; nothing where it is not constant or out of range, which is left to
// the run.
std::optional<size_t> place(Conversion& c, size_t i, size_t count, int64_t fallback) {
  std::optional<Dim> known = c.has(i) ? known_position(c, i) : std::optional(c.num(fallback));
  if (!known || !known->is_const()) return std::nullopt;
  int64_t at = known->const_value(), n = static_cast<int64_t>(count);
  if (at < 0) at += n;
  return at >= 0 && at < n ? std::optional(static_cast<size_t>(at)) : std::nullopt;
}

// The attribute or input that says the position of input i.
void add_position(Conversion& c, size_t i, Attrs& attrs, Values& inputs) {
  if (!c.has(i)) return;
  if (auto known = known_position(c, i))
    attrs.set("position", *known);
  else
    inputs.push_back(c.in(i));
}

Refs sequence_construct(Conversion& c) {
  std::vector<ValueRef> elements;
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i)) return c.fail("missing-input", "input " + std::to_string(i) + " is missing");
    TRY(require_tensor(c, i));
    elements.push_back(c.ref(i));
  }
  return one(TRY(make_sequence(c, c.dtype(0), std::move(elements))));
}

Refs sequence_empty(Conversion& c) { return one(TRY(make_sequence(c, TRY(c.dtype_attr("dtype", DType::F32)), {}))); }

Refs sequence_insert(Conversion& c) {
  TRY(require_sequence(c, 0));
  TRY(require_tensor(c, 1));
  if (const Parts* p = parts(c, 0)) {
    std::vector<ValueRef> elements = p->elements;
    // The end is one place more.
    std::optional<size_t> at = c.has(2) ? place(c, 2, elements.size(), 0) : elements.size();
    auto known = known_position(c, 2);
    if (known && known->is_const(static_cast<int64_t>(elements.size()))) at = elements.size();
    if (at) {
      elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(*at), c.ref(1));
      return one(TRY(make_sequence(c, graph::element_of(c.value(0).type).dtype, std::move(elements))));
    }
  }
  Attrs attrs;
  Values inputs{c.in(0), c.in(1)};
  add_position(c, 2, attrs, inputs);
  return one(c, TRY(c.append("seq.insert", std::move(attrs), std::move(inputs))));
}

Refs sequence_erase(Conversion& c) {
  TRY(require_sequence(c, 0));
  if (const Parts* p = parts(c, 0)) {
    if (auto at = place(c, 1, p->elements.size(), -1)) {
      std::vector<ValueRef> elements = p->elements;
      elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(*at));
      return one(TRY(make_sequence(c, graph::element_of(c.value(0).type).dtype, std::move(elements))));
    }
  }
  Attrs attrs;
  Values inputs{c.in(0)};
  add_position(c, 1, attrs, inputs);
  return one(c, TRY(c.append("seq.erase", std::move(attrs), std::move(inputs))));
}

Refs sequence_at(Conversion& c) {
  TRY(require_sequence(c, 0));
  if (const Parts* p = parts(c, 0)) {
    if (auto at = place(c, 1, p->elements.size(), -1)) return one(p->elements[*at]);
  }
  if (holds_nothing(c, 0)) return c.always_fails("an element is read from a sequence that is always empty");
  Attrs attrs;
  Values inputs{c.in(0)};
  add_position(c, 1, attrs, inputs);
  add_rank(c, 0, attrs);
  return one(c, TRY(c.append("seq.at", std::move(attrs), std::move(inputs))));
}

Refs sequence_length(Conversion& c) {
  TRY(require_sequence(c, 0));
  if (const Parts* p = parts(c, 0)) return one(make_known(c, DType::I64, static_cast<int64_t>(p->elements.size())));
  return one(c, TRY(c.append("seq.length", {}, {c.in(0)})));
}

// The same elements with an axis of size 1 more.
Result<ValueId> with_axis(Conversion& c, ValueId v, int64_t axis) {
  graph::Shape shape = c.shape_of(v);
  shape.insert(shape.begin() + axis, c.num(1));
  return c.reshape(v, std::move(shape));
}

Refs concat_from_sequence(Conversion& c) {
  TRY(require_sequence(c, 0));
  int64_t axis = c.int_attr("axis", 0);
  bool stacks = c.bool_attr("new_axis", false);
  if (holds_nothing(c, 0)) return c.always_fails("there is nothing to join: the sequence is always empty");
  const Parts* p = parts(c, 0);
  if (p == nullptr || p->elements.empty() || graph::element_of(c.value(0).type).rank != graph::Rank::Known) {
    Attrs attrs{{"axis", axis}, {"new_axis", stacks}};
    add_rank(c, stacks ? 1 : 0, attrs);
    return one(c, TRY(c.append("seq.concat", std::move(attrs), {c.in(0)})));
  }
  auto rank = static_cast<int64_t>(graph::element_of(c.value(0).type).shape.size()) + (stacks ? 1 : 0);
  axis = TRY(c.axis(axis, rank));
  Values inputs;
  for (const ValueRef& e : p->elements) {
    ValueId v = materialise(c.state(), *e);
    inputs.push_back(stacks ? TRY(with_axis(c, v, axis)) : v);
  }
  return one(c, TRY(c.append("array.concat", Attrs{{"axis", axis}}, std::move(inputs))));
}

// The sizes of the pieces where their number is known.
std::optional<std::vector<Dim>> known_pieces(Conversion& c, int64_t axis) {
  Dim size = c.shape(0)[static_cast<size_t>(axis)];
  std::optional<Dim> chunk = c.has(1) ? std::nullopt : std::optional(c.num(1));
  if (c.has(1)) {
    const Known* k = c.known(1);
    auto dims = k != nullptr ? k->dims() : std::nullopt;
    if (!dims) return std::nullopt;
    if (!k->shape.empty()) return dims->empty() || static_cast<int64_t>(dims->size()) > kMostPieces ? std::nullopt : dims;
    chunk = (*dims)[0];
  }
  if (!size.is_const() || !chunk->is_const() || chunk->const_value() < 1) return std::nullopt;
  int64_t left = size.const_value(), step = chunk->const_value();
  if (left == 0 || (left + step - 1) / step > kMostPieces) return std::nullopt;
  std::vector<Dim> sizes;
  for (; left > 0; left -= step) sizes.push_back(c.num(std::min(left, step)));
  return sizes;
}

Refs split_to_sequence(Conversion& c) {
  TRY(require_tensor(c, 0));
  if (c.has(1)) TRY(require_tensor(c, 1));
  int64_t axis = TRY(c.axis(c.int_attr("axis", 0), c.rank(0)));
  bool keeps = c.has(1) || c.bool_attr("keepdims", true);
  if (auto sizes = known_pieces(c, axis)) {
    Values pieces = TRY(c.append_multi("array.split", Attrs{{"axis", axis}, {"sizes", *sizes}}, {c.in(0)}, sizes->size()));
    std::vector<ValueRef> elements;
    for (ValueId v : pieces) {
      graph::Shape shape = c.shape_of(v);
      shape.erase(shape.begin() + axis);
      elements.push_back(value_of(c, keeps ? v : TRY(c.reshape(v, std::move(shape)))));
    }
    return one(TRY(make_sequence(c, c.dtype(0), std::move(elements))));
  }
  Attrs attrs{{"axis", axis}, {"keepdims", keeps}};
  Values inputs{c.in(0)};
  std::optional<Dim> chunk = c.has(1) && c.rank(1) == 0 ? known_position(c, 1) : std::nullopt;
  if (!c.has(1)) chunk = c.num(1);
  if (chunk)
    attrs.set("chunk", *chunk);
  else
    inputs.push_back(c.in(1));
  return one(c, TRY(c.append("seq.split", std::move(attrs), std::move(inputs))));
}

}  // namespace

Rows sequence_rows() {
  return {
      list_row("SequenceConstruct", 11, 1, &sequence_construct),
      list_row("SequenceEmpty", 11, 0, &sequence_empty),
      list_row("SequenceInsert", 11, 2, &sequence_insert),
      list_row("SequenceErase", 11, 1, &sequence_erase),
      list_row("SequenceAt", 11, 2, &sequence_at),
      list_row("SequenceLength", 11, 1, &sequence_length),
      list_row("ConcatFromSequence", 11, 1, &concat_from_sequence),
      list_row("SplitToSequence", 11, 1, &split_to_sequence),
  };
}

}  // namespace pliant::frontend::onnx
