// Indices as vectors with one element on.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &indices = c.in(0), &values = c.in(1);
  TRY(require_domain(c, 0, kNumbers));
  if (values->rank() != 1) return c.fail("shape-mismatch", "the values of a one-hot must be a pair");
  TRY(c.require_equal(values->shape[0], c.dim(2), "the values of a one-hot are a pair"));
  Dim depth = c.attr().as_dim("depth");
  TRY(c.require_less_equal(c.dim(0), depth, "the depth"));
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), indices->rank() + 1));
  std::vector<Dim> shape = indices->shape;
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), depth);
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    Index at = i;
    at.erase(at.begin() + static_cast<ptrdiff_t>(axis));
    Scalar v = expr::make_cast(DType::I64, (*indices)(at)), n = expr::make_index(depth);
    Scalar hot = expr::make_select(less_than(v, constant_like(v, 0)), v + n, v);
    return expr::make_select(same_value(hot, expr::make_index(i[axis])), (*values)({c.dim(1)}), (*values)({c.dim(0)}));
  })};
}

}  // namespace

OpDef op_array_one_hot() {
  return {
      .name = "array.one_hot",
      .doc = "values[1] where the position along the new axis is the index (negative: from the end), values[0] elsewhere.",
      .attrs = {attr("axis", -1, "where the new axis stands"),
                required_attr("depth", AttrKind::Dim, "the size of the new axis")},
      .min_inputs = 2,
      .max_inputs = 2,
      .compute = compute,
      .samples = {"i64[M]@-4..4 f32[2] M=5 D=3 depth=D", "f32[M,N] i32[2] M=2 N=3 axis=1 depth=4",
                  "i32[]@0..3 f16[2] depth=3 axis=0"}};
}

}  // namespace pliant::ops
