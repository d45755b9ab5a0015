// Values put back where a pool took them from.
#include "ops/bodies/elementwise.h"
#include "ops/bodies/indices.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &indices = c.in(1);
  const std::vector<Dim>& shape = c.attr().as_dims("output_shape");
  TRY(require_domain(c, 1, kInts));
  if (indices->rank() != x->rank()) return c.fail("shape-mismatch", "values and positions have different ranks");
  for (size_t k = 0; k < x->rank(); ++k)
    TRY(c.require_equal(x->shape[k], indices->shape[k], "axis " + std::to_string(k) + " of values and positions"));
  if (shape.size() != x->rank()) return c.fail("bad-attribute", "output_shape and the input have different ranks");
  Dim total = expr::product(c.ctx(), shape);
  auto position = [&](const Index& i) { return expr::value(expr::make_cast(DType::I64, (*indices)(i))); };
  std::vector<Dim> values;
  Tensor good = c.te().map("in_range", indices->shape, [&](const Index& i) {
    values = {position(i), total};
    return expr::logical_and(expr::less_equal(c.dim(0), values[0]), expr::less(values[0], total));
  });
  c.add_check({good, "position {0} is not one of {1} elements", values});
  return std::vector{c.te().scatter(
      "y", shape, [&](const Index&) { return expr::make_const(c.ctx(), x->dtype, 0); }, x->shape,
      [&](const Index& u) {
        Index at(shape.size());
        Dim flat = bounded_index(position(u), total);
        for (size_t k = shape.size(); k-- > 0;) {
          at[k] = k == 0 ? flat : expr::mod(flat, shape[k]);
          flat = expr::floordiv(flat, shape[k]);
        }
        return at;
      },
      te::Combiner::Set, [&](const Index& u) { return (*x)(u); })};
}

}  // namespace

OpDef op_nn_max_unpool() {
  return {.name = "nn.max_unpool",
          .doc = "Zeros with the input's values at their flat positions in the result.",
          .attrs = {required_attr("output_shape", AttrKind::Dims, "all sizes of the result")},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[1,1,2,2] i64[1,1,2,2]@0..16 output_shape=[1,1,4,4]",
                      "f32[B,1,2] i64[B,1,2]@0..6 B=1 output_shape=[B,1,6]"}};
}

}  // namespace pliant::ops
