// A tensor cut along an axis into a sequence.
#include <algorithm>

#include "ops/bodies/list_op.h"
#include "ops/evaluate/reference.h"

namespace pliant::ops {
namespace {

Types infer_types(ListContext& c) {
  TensorType x = TRY(c.tensor(0));
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), x.shape.size()));
  bool has_sizes = c.has(1);
  if (has_sizes) {
    TensorType sizes = TRY(c.tensor(1));
    if (!is_int(sizes.dtype) || sizes.shape.size() > 1)
      return c.fail("type-mismatch", "the sizes of a split are one integer or a list of them, not " + print(Type{sizes}));
  }
  if (has_sizes == c.attr().has("chunk")) return c.fail("wrong-attribute", "a split is given its sizes or its chunk");
  if (!has_sizes && c.attr().as_dim("chunk").is_const(1) && !c.attr().as_bool("keepdims")) {
    x.shape.erase(x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  } else {
    bool is_even = !has_sizes && c.attr().as_dim("chunk").is_const() && c.attr().as_dim("chunk").const_value() > 0 &&
                   c.ctx.divisible(x.shape[axis], c.attr().as_dim("chunk").const_value());
    x.shape[axis] = is_even ? c.attr().as_dim("chunk") : graph::any_size(c.ctx);
  }
  return std::vector{graph::make_sequence_type(Type{std::move(x)})};
}

// The sizes of the pieces: as given, or chunks of one size with what is left over last.
Result<std::vector<int64_t>> piece_sizes(const Attrs& attrs, const std::vector<Datum>& in, int64_t size) {
  std::vector<int64_t> sizes;
  bool is_list = in.size() > 1 && in[1].array.shape.size() == 1;
  if (is_list) {
    int64_t total = 0;
    for (int64_t i = 0; i < in[1].array.shape[0]; ++i) {
      sizes.push_back(static_cast<int64_t>(number_at(view_of(in[1].array), i)));
      if (sizes.back() < 0) return run_fault("a piece of a split has the size " + std::to_string(sizes.back()));
      total += sizes.back();
    }
    if (total != size)
      return run_fault("the pieces of a split have " + std::to_string(total) + " together but the axis has " +
                       std::to_string(size));
    return sizes;
  }
  int64_t chunk = in.size() > 1 ? static_cast<int64_t>(number_at(view_of(in[1].array), 0))
                                : std::get<Dim>(*attrs.find("chunk")).const_value();
  if (chunk < 1) return run_fault("a piece of a split has the size " + std::to_string(chunk));
  for (int64_t at = 0; at < size; at += chunk) sizes.push_back(std::min(chunk, size - at));
  return sizes;
}

Data reference(const Attrs& attrs, const std::vector<Datum>& in) {
  const te::Array& x = in[0].array;
  auto rank = static_cast<int64_t>(x.shape.size());
  int64_t axis = AttrReader{attrs}.as_int("axis");
  if (axis < 0) axis += rank;
  AxisView v = split_axis(x.shape, axis);
  Elements elements;
  int64_t begin = 0;
  bool drops_axis = in.size() < 2 && !AttrReader{attrs}.as_bool("keepdims");
  for (int64_t size : TRY(piece_sizes(attrs, in, v.size))) {
    std::vector<int64_t> shape = x.shape;
    shape[static_cast<size_t>(axis)] = size;
    if (drops_axis) shape.erase(shape.begin() + axis);
    te::Array piece = make_array(x.dtype, std::move(shape));
    for (int64_t o = 0; o < v.outer; ++o)
      for (int64_t i = 0; i < size * v.inner; ++i)
        copy_element(piece, o * size * v.inner + i, view_of(x), (o * v.size + begin) * v.inner + i);
    elements.push_back(std::make_shared<te::Array>(std::move(piece)));
    begin += size;
  }
  return std::vector{make_list(std::move(elements))};
}

}  // namespace

OpDef op_seq_split() {
  return {
      .name = "seq.split",
      .doc =
          "The pieces of a tensor along an axis: of the sizes in integer input 1, a list, or in chunks of one size (that "
          "input, one integer, or the attribute), the last of what is left.",
      .attrs = {attr("axis", int64_t{0}, "the axis that is cut"),
                optional_attr("chunk", AttrKind::Dim, "the size of the pieces"),
                attr("keepdims", true, "with chunk 1: whether the axis stays, of size 1")},
      .max_inputs = 2,
      .list = {infer_types, reference}};
}

}  // namespace pliant::ops
