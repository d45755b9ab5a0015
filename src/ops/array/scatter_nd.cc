// Slices replaced or combined at vectors of coordinates.
#include "ops/bodies/coordinates.h"
#include "ops/bodies/scatter.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &indices = c.in(1), &updates = c.in(2);
  TRY(c.require_same_dtype(0, 2));
  te::Combiner combiner = TRY(scatter_combiner(c));
  size_t depth = TRY(coordinate_count(c, indices, x->rank())), points = indices->rank() - 1;
  std::vector<Dim> extent(indices->shape.begin(), indices->shape.end() - 1);
  extent.insert(extent.end(), x->shape.begin() + static_cast<ptrdiff_t>(depth), x->shape.end());
  if (updates->rank() != extent.size())
    return c.fail("shape-mismatch", "the updates have rank " + std::to_string(updates->rank()) + " but must have " +
                                        std::to_string(extent.size()));
  for (size_t k = 0; k < extent.size(); ++k)
    TRY(c.require_equal(updates->shape[k], extent[k], "axis " + std::to_string(k) + " of the updates"));
  check_coordinates(c, indices, x, 0, depth);
  return std::vector{c.te().scatter(
      "y", x->shape, [&](const Index& i) { return (*x)(i); }, extent,
      [&](const Index& u) {
        Index at = coordinates(c, indices, x, Index(u.begin(), u.begin() + static_cast<ptrdiff_t>(points)), 0, depth);
        at.insert(at.end(), u.begin() + static_cast<ptrdiff_t>(points), u.end());
        return at;
      },
      combiner, [&](const Index& u) { return (*updates)(u); })};
}

}  // namespace

OpDef op_array_scatter_nd() {
  return {
      .name = "array.scatter_nd",
      .doc =
          "x with the slices at the coordinates in the last axis of the indices replaced by, or combined with, the updates.",
      .attrs = {attr("reduction", "none", "none, add, mul, max or min")},
      .min_inputs = 3,
      .max_inputs = 3,
      .compute = compute,
      .samples = {"f32[M,N] i64[K,1]@-3..3 f32[K,N] M=3 N=2 K=2", "f32[M,N] i64[K,2]@0..2 f32[K] M=2 N=2 K=5 reduction=add",
                  "i64[M] i64[A,B,1]@0..4 i64[A,B] M=4 A=2 B=3 reduction=min"}};
}

}  // namespace pliant::ops
