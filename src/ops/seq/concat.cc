// The tensors of a sequence joined to one.
#include "ops/bodies/list_op.h"
#include "ops/evaluate/reference.h"

namespace pliant::ops {
namespace {

Types infer_types(ListContext& c) {
  Type element = TRY(c.sequence(0));
  const TensorType& t = *element.tensor();
  TensorType out = TRY(c.read(t));
  bool stacks = c.attr().as_bool("new_axis");
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), out.shape.size() + (stacks ? 1 : 0)));
  auto at = out.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  if (stacks)
    out.shape.insert(at, c.fresh_dim());
  else if (t.rank == graph::Rank::Known && !graph::is_any_size(t.shape[axis]))
    *at = c.fresh_dim();
  return std::vector{Type{std::move(out)}};
}

std::string text_of(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t k = 0; k < shape.size(); ++k) out += (k > 0 ? ", " : "") + std::to_string(shape[k]);
  return out + "]";
}

Data reference(const Attrs& attrs, const std::vector<Datum>& in) {
  const Elements& elements = in[0].list->elements;
  if (elements.empty()) return run_fault("an empty sequence has no shape to join");
  bool stacks = AttrReader{attrs}.as_bool("new_axis");
  std::vector<int64_t> shape = elements[0]->shape;
  int64_t axis = AttrReader{attrs}.as_int("axis");
  auto rank = static_cast<int64_t>(shape.size()) + (stacks ? 1 : 0);
  if (axis < 0) axis += rank;
  auto k = static_cast<size_t>(axis);
  int64_t total = 0;
  for (const auto& e : elements) {
    std::vector<int64_t> other = e->shape, first = shape;
    if (!stacks) other[k] = first[k] = 0;
    if (other != first)
      return run_fault("tensors of shapes " + text_of(shape) + " and " + text_of(e->shape) + " do not join");
    total += stacks ? 1 : e->shape[k];
  }
  std::vector<int64_t> result = shape;
  if (stacks)
    result.insert(result.begin() + axis, total);
  else
    result[k] = total;
  te::Array out = make_array(elements[0]->dtype, std::move(result));
  AxisView v = split_axis(out.shape, axis);
  int64_t begin = 0;
  for (const auto& e : elements) {
    int64_t size = stacks ? 1 : e->shape[k];
    for (int64_t o = 0; o < v.outer; ++o)
      for (int64_t i = 0; i < size * v.inner; ++i)
        copy_element(out, (o * v.size + begin) * v.inner + i, view_of(*e), o * size * v.inner + i);
    begin += size;
  }
  return std::vector{make_tensor(std::move(out))};
}

}  // namespace

OpDef op_seq_concat() {
  return {.name = "seq.concat",
          .doc =
              "The elements one after the other along an axis, or stacked on a new one. A sequence without elements is a "
              "fault.",
          .attrs = {required_attr("axis", AttrKind::Int, "the axis of the result"),
                    attr("new_axis", false, "whether the axis is new, of the sequence's length"), rank_attr()},
          .list = {infer_types, reference}};
}

}  // namespace pliant::ops
