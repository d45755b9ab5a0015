// Elements of an axis picked one by one.
#include "ops/bodies/elementwise.h"
#include "ops/bodies/indices.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &indices = c.in(1);
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), x->rank()));
  TRY(require_domain(c, 1, kInts));
  if (indices->rank() != x->rank())
    return c.fail("shape-mismatch",
                  "the indices have rank " + std::to_string(indices->rank()) + " but the data " + std::to_string(x->rank()));
  for (size_t k = 0; k < x->rank(); ++k)
    if (k != axis)
      TRY(c.require_less_equal(indices->shape[k], x->shape[k],
                               "axis " + std::to_string(k) + " of the indices and the data"));
  c.check_index(indices, x->shape[axis], "axis " + std::to_string(axis));
  return std::vector{c.te().map("y", indices->shape, [&](const Index& i) {
    Index at = i;
    at[axis] = index_from((*indices)(i), x->shape[axis]);
    return (*x)(at);
  })};
}

}  // namespace

OpDef op_array_gather_elements() {
  return {.name = "array.gather_elements",
          .doc = "y[…, i, …] = x[…, indices[…, i, …], …] along `axis`.",
          .attrs = {attr("axis", 0, "the axis that is indexed")},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[M,N] i64[M,K]@-3..3 M=2 N=3 K=2 axis=1", "f32[M,N] i32[2,N]@0..3 M=3 N=2"}};
}

}  // namespace pliant::ops
