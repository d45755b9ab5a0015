// Reading and writing by index, and selections whose size depends on the data.
#include "frontend/onnx/fold.h"
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

template <OpName op>
Result<Values> with_axis(Conversion& c) {
  return Values{TRY(c.append(op.text, Attrs{{"axis", c.int_attr("axis", 0)}}, c.all_inputs()))};
}

// A place that is a size, such as the number of a loop's iteration, and lies inside: a slice needs no index tensor.
std::optional<Dim> known_place(Conversion& c, Dim size) {
  const Known* k = c.known(1);
  if (k == nullptr || k->elements.size() != 1 || k->is_const() || k->elements[0].kind != Element::Kind::Int)
    return std::nullopt;
  Dim at = k->elements[0].num;
  if (c.ctx().proves_less(at, c.num(0))) at = at + size;
  bool inside = c.ctx().proves_less_equal(c.num(0), at) && c.ctx().proves_less(at, size);
  return inside ? std::optional(at) : std::nullopt;
}

Result<Values> gather(Conversion& c) {
  if (c.rank(0) == 0) return with_axis<"array.gather">(c);
  int64_t axis = TRY(c.axis(c.int_attr("axis", 0), c.rank(0)));
  std::optional<Dim> at = known_place(c, c.shape(0)[static_cast<size_t>(axis)]);
  if (!at) return with_axis<"array.gather">(c);
  Attrs attrs{{"starts", std::vector<Dim>{*at}}, {"ends", std::vector<Dim>{*at + 1}}, {"axes", std::vector<int64_t>{axis}}};
  ValueId part = TRY(c.append("array.slice", std::move(attrs), {c.in(0)}));
  graph::Shape shape = c.shape(0);
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, static_cast<size_t>(c.rank(1)), c.num(1));
  return Values{TRY(c.reshape(part, std::move(shape)))};
}

// The inputs with an index tuple of known length: the last axis of the indices, which are input 1, where its size is not
// known, has `length` elements, which is checked.
Result<Values> with_tuples(Conversion& c, std::optional<int64_t> length) {
  Values inputs = c.all_inputs();
  graph::Shape shape = c.shape(1);
  if (shape.empty() || shape.back().is_const() || !length || *length < 0) return inputs;
  c.require_equal(shape.back(), c.num(*length), "the indices have tuples of {a} but the ranks of the others ask for {b}");
  shape.back() = c.num(*length);
  inputs[1] = TRY(c.reshape(inputs[1], std::move(shape)));
  return inputs;
}

Result<Values> gather_nd(Conversion& c) {
  const int64_t batch = c.int_attr("batch_dims", 0);
  std::optional<int64_t> length;
  if (auto rank = c.declared_rank(0)) length = c.rank(0) + c.rank(1) - 1 - batch - *rank;
  Values inputs = TRY(with_tuples(c, length));
  return Values{TRY(c.append("array.gather_nd", Attrs{{"batch_dims", batch}}, std::move(inputs)))};
}

Result<Values> scatter_elements(Conversion& c) {
  Attrs attrs{{"axis", c.int_attr("axis", 0)}, {"reduction", c.string_attr("reduction", "none")}};
  return Values{TRY(c.append("array.scatter_elements", attrs, c.all_inputs()))};
}

Result<Values> scatter_nd(Conversion& c) {
  Values inputs = TRY(with_tuples(c, c.rank(0) + c.rank(1) - 1 - c.rank(2)));
  return Values{
      TRY(c.append("array.scatter_nd", Attrs{{"reduction", c.string_attr("reduction", "none")}}, std::move(inputs)))};
}

Result<Values> tensor_scatter(Conversion& c) {
  Attrs attrs{{"axis", c.int_attr("axis", -2)}, {"mode", c.string_attr("mode", "linear")}};
  return Values{TRY(c.append("array.tensor_scatter", attrs, c.all_inputs()))};
}

// A size given as a tensor of any number type.
Result<Dim> any_dim(Conversion& c, size_t i, const std::string& what) {
  if (!is_float(c.dtype(i))) return c.dim(i, what);
  if (const Known* k = c.known(i); k != nullptr && k->elements.size() == 1) {
    if (auto e = cast(k->elements[0], k->dtype, DType::I64, c.ctx())) return e->num;
  }
  ValueId whole = TRY(c.cast(c.in(i), DType::I64));
  std::vector<Dim> read = TRY(c.read_dims(whole, what));
  if (read.size() != 1) return c.fail("wrong-count", what + " must be one number");
  return read[0];
}

Result<Values> one_hot(Conversion& c) {
  Dim depth = TRY(any_dim(c, 1, "the depth"));
  return Values{
      TRY(c.append("array.one_hot", Attrs{{"axis", c.int_attr("axis", -1)}, {"depth", depth}}, {c.in(0), c.in(2)}))};
}

Result<Values> top_k(Conversion& c) {
  Dim k = c.has(1) ? TRY(c.dim(1, "k")) : c.num(c.int_attr("k", 1));
  Attrs attrs{{"axis", c.int_attr("axis", -1)},
              {"k", k},
              {"largest", c.bool_attr("largest", true)},
              {"sorted", c.bool_attr("sorted", true)}};
  return c.append_multi("array.top_k", attrs, {c.in(0)}, 2);
}

Result<Values> compress(Conversion& c) {
  Attrs attrs;
  if (c.has_attr("axis")) attrs.set("axis", c.int_attr("axis", 0));
  return Values{TRY(c.append("array.compress", attrs, c.all_inputs()))};
}

Result<Values> unique(Conversion& c) {
  Attrs attrs{{"sorted", c.bool_attr("sorted", true)}};
  if (c.has_attr("axis")) attrs.set("axis", c.int_attr("axis", 0));
  return c.append_multi("array.unique", attrs, {c.in(0)}, 4);
}

}  // namespace

Rows index_rows() {
  return {
      {"Gather", 1, 2, &gather, 0, &fold_gather},
      {"GatherElements", 11, 2, &with_axis<"array.gather_elements">},
      {"GatherND", 11, 2, &gather_nd},
      {"Scatter", 9, 3, &scatter_elements},
      {"ScatterElements", 11, 3, &scatter_elements},
      {"ScatterND", 11, 3, &scatter_nd},
      {"TensorScatter", 24, 2, &tensor_scatter},
      {"OneHot", 9, 3, &one_hot, shape_input(1)},
      {"TopK", 1, 1, &top_k, kFrom1},
      {"NonZero", 9, 1, &direct<"array.nonzero">},
      {"Compress", 9, 2, &compress},
      {"Unique", 11, 1, &unique},
  };
}

}  // namespace pliant::frontend::onnx
