// The distinct elements of a tensor, or the distinct slices of an axis.
#include <algorithm>
#include <numeric>

#include "ops/evaluate/reference.h"

namespace pliant::ops {
namespace {

Result<int64_t> axis_of(DefineContext& c) {
  if (!c.attr().has("axis")) return int64_t{-1};
  return static_cast<int64_t>(TRY(c.axis(c.attr().as_int("axis"), c.in(0)->rank())));
}

Result<std::vector<TensorType>> infer_types(DefineContext& c) {
  const te::Tensor& x = c.in(0);
  int64_t axis = TRY(axis_of(c));
  std::vector<Dim> shape = x->shape;
  Dim size = axis < 0 ? expr::product(c.ctx(), x->shape) : x->shape[static_cast<size_t>(axis)];
  Dim n = c.fresh_dim("unique", size);
  if (axis < 0)
    shape = {n};
  else
    shape[static_cast<size_t>(axis)] = n;
  return std::vector{TensorType{x->dtype, std::move(shape)}, TensorType{DType::I64, {n}}, TensorType{DType::I64, {size}},
                     TensorType{DType::I64, {n}}};
}

Arrays reference(const Attrs& attrs, const std::vector<te::ArrayView>& in) {
  const te::ArrayView& x = in[0];
  bool flat = !attrs.has("axis");
  int64_t rank = static_cast<int64_t>(x.shape.size()), axis = flat ? 0 : AttrReader{attrs}.as_int("axis");
  if (axis < 0) axis += rank;
  AxisView v = flat ? AxisView{1, count_of(x.shape), 1} : split_axis(x.shape, axis);
  auto compare = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < v.outer; ++o)
      for (int64_t i = 0; i < v.inner; ++i) {
        int c = compare_numbers(number_at(x, (o * v.size + a) * v.inner + i), number_at(x, (o * v.size + b) * v.inner + i));
        if (c != 0) return c;
      }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(v.size));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  // Runs of equals: the first member of each stands for it.
  std::vector<int64_t> first, group(static_cast<size_t>(v.size)), count;
  for (size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || compare(order[k - 1], order[k]) != 0) {
      first.push_back(order[k]);
      count.push_back(0);
    }
    group[static_cast<size_t>(order[k])] = static_cast<int64_t>(first.size()) - 1;
    ++count.back();
  }
  std::vector<int64_t> place(first.size());  // output position -> run
  std::iota(place.begin(), place.end(), 0);
  if (!AttrReader{attrs}.as_bool("sorted"))
    std::sort(place.begin(), place.end(),
              [&](int64_t a, int64_t b) { return first[static_cast<size_t>(a)] < first[static_cast<size_t>(b)]; });
  int64_t n = static_cast<int64_t>(first.size());
  std::vector<int64_t> shape = flat ? std::vector<int64_t>{n} : x.shape;
  if (!flat) shape[static_cast<size_t>(axis)] = n;
  te::Array y = make_array(x.dtype, shape), indices = make_array(DType::I64, {n}),
            inverse = make_array(DType::I64, {v.size}), counts = make_array(DType::I64, {n});
  std::vector<int64_t> position(first.size());
  for (int64_t k = 0; k < n; ++k) {
    size_t run = static_cast<size_t>(place[static_cast<size_t>(k)]);
    position[run] = k;
    set_i64(indices, k, first[run]);
    set_i64(counts, k, count[run]);
    for (int64_t o = 0; o < v.outer; ++o)
      for (int64_t i = 0; i < v.inner; ++i)
        copy_element(y, (o * n + k) * v.inner + i, x, (o * v.size + first[run]) * v.inner + i);
  }
  for (int64_t k = 0; k < v.size; ++k) set_i64(inverse, k, position[static_cast<size_t>(group[static_cast<size_t>(k)])]);
  return std::vector{std::move(y), std::move(indices), std::move(inverse), std::move(counts)};
}

std::vector<Dim> ints(DefineContext& c) { return {c.dim(axis_of(c).value()), flag(c.ctx(), c.attr().as_bool("sorted"))}; }

}  // namespace

OpDef op_array_unique() {
  return {.name = "array.unique",
          .doc =
              "The distinct elements (or slices of `axis`), sorted or as first seen; with first places, the place of each "
              "element among the "
              "distinct ones, and counts.",
          .attrs = {optional_attr("axis", AttrKind::Int, "the axis; absent: the flattened input"),
                    attr("sorted", true, "ascending; else in order of first occurrence")},
          .outputs = 4,
          .kernel = {infer_types, reference, "unique", ints},
          .samples = {"i64[M] M=9 outputs=4", "i32[M] M=7 sorted=false outputs=4", "i8[M,N] M=5 N=2 axis=0 outputs=3",
                      "f32[M,N] M=2 N=3"}};
}

}  // namespace pliant::ops
