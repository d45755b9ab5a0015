// Slices of an axis picked by index.
#include "ops/bodies/elementwise.h"
#include "ops/bodies/indices.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &indices = c.in(1);
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), x->rank())), n = indices->rank();
  TRY(require_domain(c, 1, kInts));
  std::vector<Dim> shape(x->shape.begin(), x->shape.begin() + static_cast<ptrdiff_t>(axis));
  shape.insert(shape.end(), indices->shape.begin(), indices->shape.end());
  shape.insert(shape.end(), x->shape.begin() + static_cast<ptrdiff_t>(axis) + 1, x->shape.end());
  c.check_index(indices, x->shape[axis], "axis " + std::to_string(axis));
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    auto first = i.begin() + static_cast<ptrdiff_t>(axis), last = first + static_cast<ptrdiff_t>(n);
    Index at(i.begin(), first);
    at.push_back(index_from((*indices)(Index(first, last)), x->shape[axis]));
    at.insert(at.end(), last, i.end());
    return (*x)(at);
  })};
}

}  // namespace

OpDef op_array_gather() {
  return {.name = "array.gather",
          .doc = "The slices of `axis` that the indices name; negative indices count from the end.",
          .attrs = {attr("axis", 0, "the axis that is indexed")},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[M,N] i64[B,S]@0..2 M=2 N=3 B=2 S=4", "f32[M,N] i32[K]@-3..3 M=2 N=3 K=5 axis=1",
                      "i64[M] i64[]@-4..4 M=4"}};
}

}  // namespace pliant::ops
