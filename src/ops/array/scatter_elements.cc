// Elements of an axis replaced or combined one by one.
#include "ops/bodies/elementwise.h"
#include "ops/bodies/indices.h"
#include "ops/bodies/scatter.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &indices = c.in(1), &updates = c.in(2);
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), x->rank()));
  TRY(require_domain(c, 1, kInts));
  TRY(c.require_same_dtype(0, 2));
  te::Combiner combiner = TRY(scatter_combiner(c));
  if (indices->rank() != x->rank() || updates->rank() != x->rank())
    return c.fail("shape-mismatch", "data, indices and updates have ranks " + std::to_string(x->rank()) + ", " +
                                        std::to_string(indices->rank()) + " and " + std::to_string(updates->rank()));
  for (size_t k = 0; k < x->rank(); ++k) {
    TRY(c.require_equal(indices->shape[k], updates->shape[k], "axis " + std::to_string(k) + " of indices and updates"));
    if (k != axis)
      TRY(c.require_less_equal(indices->shape[k], x->shape[k],
                               "axis " + std::to_string(k) + " of the indices and the data"));
  }
  c.check_index(indices, x->shape[axis], "axis " + std::to_string(axis));
  return std::vector{c.te().scatter(
      "y", x->shape, [&](const Index& i) { return (*x)(i); }, indices->shape,
      [&](const Index& u) {
        Index at = u;
        at[axis] = index_from((*indices)(u), x->shape[axis]);
        return at;
      },
      combiner, [&](const Index& u) { return (*updates)(u); })};
}

}  // namespace

OpDef op_array_scatter_elements() {
  return {
      .name = "array.scatter_elements",
      .doc = "x with y[…, indices[…, i, …], …] = updates[…, i, …] along `axis`, or combined with what is there.",
      .attrs = {attr("axis", 0, "the axis that is indexed"), attr("reduction", "none", "none, add, mul, max or min")},
      .min_inputs = 3,
      .max_inputs = 3,
      .compute = compute,
      .samples = {"f32[M,N] i64[M,2]@-3..3 f32[M,2] M=2 N=3 axis=1", "f32[M,N] i64[2,N]@0..3 f32[2,N] M=3 N=2 reduction=add",
                  "i32[M] i32[K]@0..4 i32[K] M=4 K=6 reduction=max"}};
}

}  // namespace pliant::ops
