// The k largest or smallest elements along an axis.
#include <algorithm>
#include <numeric>

#include "ops/evaluate/reference.h"

namespace pliant::ops {
namespace {

Result<std::vector<TensorType>> infer_types(DefineContext& c) {
  const te::Tensor& x = c.in(0);
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), x->rank()));
  Dim k = c.attr().as_dim("k");
  TRY(c.require_less_equal(c.dim(0), k, "the number of elements asked for"));
  TRY(c.require_less_equal(k, x->shape[axis],
                           "the number of elements asked for and the size of axis " + std::to_string(axis)));
  std::vector<Dim> shape = x->shape;
  shape[axis] = k;
  return std::vector{TensorType{x->dtype, shape}, TensorType{DType::I64, shape}};
}

Arrays reference(const Attrs& attrs, const std::vector<te::ArrayView>& in) {
  const te::ArrayView& x = in[0];
  int64_t rank = static_cast<int64_t>(x.shape.size()), axis = AttrReader{attrs}.as_int("axis");
  if (axis < 0) axis += rank;
  bool largest = AttrReader{attrs}.as_bool("largest");
  int64_t k = std::get<Dim>(*attrs.find("k")).const_value();
  AxisView v = split_axis(x.shape, axis);
  std::vector<int64_t> shape = x.shape;
  shape[static_cast<size_t>(axis)] = k;
  te::Array values = make_array(x.dtype, shape), indices = make_array(DType::I64, shape);
  std::vector<int64_t> order(static_cast<size_t>(v.size));
  for (int64_t o = 0; o < v.outer; ++o)
    for (int64_t i = 0; i < v.inner; ++i) {
      auto source = [&](int64_t p) { return (o * v.size + p) * v.inner + i; };
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        int c = compare_numbers(number_at(x, source(a)), number_at(x, source(b)));
        return largest ? c > 0 : c < 0;
      });
      for (int64_t p = 0; p < k; ++p) {
        int64_t to = (o * k + p) * v.inner + i;
        copy_element(values, to, x, source(order[static_cast<size_t>(p)]));
        set_i64(indices, to, order[static_cast<size_t>(p)]);
      }
    }
  return std::vector{std::move(values), std::move(indices)};
}

std::vector<Dim> ints(DefineContext& c) {
  AttrReader a = c.attr();
  size_t axis = c.axis(a.as_int("axis"), c.in(0)->rank()).value();
  return {c.dim(static_cast<int64_t>(axis)), flag(c.ctx(), a.as_bool("largest")), flag(c.ctx(), a.as_bool("sorted")),
          a.as_dim("k")};
}

}  // namespace

OpDef op_array_top_k() {
  return {.name = "array.top_k",
          .doc =
              "The k largest (or smallest) elements along `axis` and their positions, in order; of equals the earlier comes "
              "first.",
          .attrs = {attr("axis", -1, "the axis"), required_attr("k", AttrKind::Dim, "how many"),
                    attr("largest", true, "the largest, else the smallest"),
                    attr("sorted", true, "in order; the order is kept in any case")},
          .outputs = 2,
          .kernel = {infer_types, reference, "top_k", ints},
          .samples = {"f32[M,N] M=3 N=5 k=2 outputs=2", "i64[M,N] M=4 N=2 axis=0 k=3 largest=false outputs=2",
                      "f32[M] M=5 K=3 k=K outputs=2"}};
}

}  // namespace pliant::ops
