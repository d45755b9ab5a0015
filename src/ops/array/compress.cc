// The slices that a condition picks.
#include "ops/evaluate/reference.h"

namespace pliant::ops {
namespace {

Result<int64_t> axis_of(DefineContext& c) {
  if (!c.attr().has("axis")) return int64_t{-1};
  return static_cast<int64_t>(TRY(c.axis(c.attr().as_int("axis"), c.in(0)->rank())));
}

Result<std::vector<TensorType>> infer_types(DefineContext& c) {
  const te::Tensor &x = c.in(0), &condition = c.in(1);
  if (condition->dtype != DType::Bool || condition->rank() != 1)
    return c.fail("type-mismatch", "the condition must be bool of rank 1");
  int64_t axis = TRY(axis_of(c));
  std::vector<Dim> shape = x->shape;
  Dim size = axis < 0 ? expr::product(c.ctx(), x->shape) : x->shape[static_cast<size_t>(axis)];
  Dim n = c.fresh_dim("compressed", size);
  if (axis < 0)
    shape = {n};
  else
    shape[static_cast<size_t>(axis)] = n;
  return std::vector{TensorType{x->dtype, std::move(shape)}};
}

Arrays reference(const Attrs& attrs, const std::vector<te::ArrayView>& in) {
  const te::ArrayView &x = in[0], &condition = in[1];
  bool flat = !attrs.has("axis");
  int64_t rank = static_cast<int64_t>(x.shape.size()), axis = flat ? 0 : AttrReader{attrs}.as_int("axis");
  if (axis < 0) axis += rank;
  AxisView v = flat ? AxisView{1, count_of(x.shape), 1} : split_axis(x.shape, axis);
  std::vector<int64_t> kept;
  for (int64_t k = 0; k < condition.shape[0]; ++k) {
    if (number_at(condition, k) == 0) continue;
    if (k >= v.size)
      return make_error("run-time-check", "",
                        "the condition picks slice " + std::to_string(k) + " of " + std::to_string(v.size));
    kept.push_back(k);
  }
  int64_t n = static_cast<int64_t>(kept.size());
  std::vector<int64_t> shape = flat ? std::vector<int64_t>{n} : x.shape;
  if (!flat) shape[static_cast<size_t>(axis)] = n;
  te::Array out = make_array(x.dtype, shape);
  for (int64_t o = 0; o < v.outer; ++o)
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < v.inner; ++i)
        copy_element(out, (o * n + k) * v.inner + i, x, (o * v.size + kept[static_cast<size_t>(k)]) * v.inner + i);
  return std::vector{std::move(out)};
}

std::vector<Dim> ints(DefineContext& c) { return {c.dim(axis_of(c).value())}; }

}  // namespace

OpDef op_array_compress() {
  return {
      .name = "array.compress",
      .doc = "The slices of `axis` (or the elements of the flattened input) at which the condition holds.",
      .attrs = {optional_attr("axis", AttrKind::Int, "the axis; absent: the flattened input")},
      .min_inputs = 2,
      .max_inputs = 2,
      .kernel = {infer_types, reference, "compress", ints},
      .samples = {"f32[M,N] bool[M] M=4 N=3 axis=0", "i64[M,N] bool[K] M=3 N=4 K=2 axis=-1", "f16[M,N] bool[5] M=2 N=4"}};
}

}  // namespace pliant::ops
