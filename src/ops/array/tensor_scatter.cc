// A window of a cache overwritten at a position of each batch.
#include "ops/bodies/elementwise.h"
#include "ops/bodies/indices.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &past = c.in(0), &update = c.in(1);
  TRY(c.require_same_dtype(0, 1));
  size_t rank = past->rank(), axis = TRY(c.axis(c.attr().as_int("axis"), rank));
  const std::string& mode = c.attr().as_string("mode");
  if (mode != "linear" && mode != "circular") return c.fail("bad-attribute", "there is no mode '" + mode + "'");
  if (axis == 0) return c.fail("bad-attribute", "the axis of a tensor scatter cannot be the batch");
  if (update->rank() != rank)
    return c.fail("shape-mismatch",
                  "cache and update have ranks " + std::to_string(rank) + " and " + std::to_string(update->rank()));
  for (size_t k = 0; k < rank; ++k) {
    if (k == axis)
      TRY(c.require_less_equal(update->shape[k], past->shape[k], "the update and the cache"));
    else
      TRY(c.require_equal(update->shape[k], past->shape[k], "axis " + std::to_string(k) + " of cache and update"));
  }
  // The last position that a window may begin at.
  Dim room = past->shape[axis] - (mode == "linear" ? update->shape[axis] : c.dim(1));
  auto first = [&](Dim batch) {
    return c.has(2) ? expr::value(expr::make_cast(DType::I64, (*c.in(2))({batch}))) : c.dim(0);
  };
  if (c.has(2)) {
    TRY(require_domain(c, 2, kInts));
    if (c.in(2)->rank() != 1) return c.fail("shape-mismatch", "the write indices must have rank 1");
    TRY(c.require_equal(c.in(2)->shape[0], past->shape[0], "the write indices and the batch"));
    std::vector<Dim> values;
    Tensor good = c.te().map("fits", {past->shape[0]}, [&](const Index& i) {
      Dim at = first(i[0]);
      values = {at, room};
      return expr::logical_and(expr::less_equal(c.dim(0), at), expr::less_equal(at, room));
    });
    c.add_check({good, "write index {0} is not between 0 and {1}", values});
  }
  return std::vector{c.te().scatter(
      "y", past->shape, [&](const Index& i) { return (*past)(i); }, update->shape,
      [&](const Index& u) {
        Index at = u;
        Dim position = (c.has(2) ? bounded_index(first(u[0]), room + 1) : c.dim(0)) + u[axis];
        at[axis] = mode == "circular" ? expr::mod(position, past->shape[axis]) : position;
        return at;
      },
      te::Combiner::Set, [&](const Index& u) { return (*update)(u); })};
}

}  // namespace

OpDef op_array_tensor_scatter() {
  return {
      .name = "array.tensor_scatter",
      .doc =
          "The cache with a window of `axis` overwritten by the update, from a position that each batch gives (0 without).",
      .attrs = {attr("axis", -2, "the axis of the window"),
                attr("mode", "linear", "linear, or circular to go on at the start")},
      .min_inputs = 2,
      .max_inputs = 3,
      .compute = compute,
      .samples = {"f32[B,S,D] f32[B,T,D] i64[B]@0..3 B=2 S=4 T=2 D=3",
                  "f32[B,S,D] f32[B,T,D] i64[B]@0..4 B=2 S=4 T=2 D=1 mode=circular",
                  "f32[B,S,D] f32[B,T,D] B=1 S=3 T=1 D=2"}};
}

}  // namespace pliant::ops
