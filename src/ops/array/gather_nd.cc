// Slices picked by vectors of coordinates.
#include "ops/bodies/coordinates.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &indices = c.in(1);
  int64_t b = c.attr().as_int("batch_dims");
  size_t q = indices->rank();
  if (b < 0 || static_cast<size_t>(b) >= q || static_cast<size_t>(b) > x->rank())
    return c.fail("bad-attribute", "batch_dims " + std::to_string(b) + " does not fit the ranks " +
                                       std::to_string(x->rank()) + " and " + std::to_string(q));
  size_t batch = static_cast<size_t>(b);
  size_t depth = TRY(coordinate_count(c, indices, x->rank() - batch));
  for (size_t k = 0; k < batch; ++k) TRY(c.require_equal(x->shape[k], indices->shape[k], "batch axis " + std::to_string(k)));
  std::vector<Dim> shape(indices->shape.begin(), indices->shape.end() - 1);
  shape.insert(shape.end(), x->shape.begin() + static_cast<ptrdiff_t>(batch + depth), x->shape.end());
  check_coordinates(c, indices, x, batch, depth);
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    Index at(i.begin(), i.begin() + static_cast<ptrdiff_t>(batch)),
        point(i.begin(), i.begin() + static_cast<ptrdiff_t>(q - 1));
    for (Dim d : coordinates(c, indices, x, point, batch, depth)) at.push_back(d);
    at.insert(at.end(), i.begin() + static_cast<ptrdiff_t>(q - 1), i.end());
    return (*x)(at);
  })};
}

}  // namespace

OpDef op_array_gather_nd() {
  return {.name = "array.gather_nd",
          .doc = "The slices at the coordinates along the last axis of the indices, after `batch_dims` shared axes.",
          .attrs = {attr("batch_dims", 0, "leading axes shared by data and indices")},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[M,N,K] i64[A,2]@-2..2 M=2 N=3 K=4 A=5", "f32[M,N] i64[M,1]@0..3 M=2 N=3 batch_dims=1",
                      "i64[M,N] i64[A,B,2]@0..2 M=2 N=2 A=1 B=3"}};
}

}  // namespace pliant::ops
