// One at the first largest element along an axis, zero elsewhere.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), x->rank()));
  std::vector<Dim> kept = x->shape;
  kept[axis] = c.dim(1);
  Tensor best = c.te().reduce("best", kept, {x->shape[axis]}, te::Combiner::ArgMax, [&](const Index& i, const Index& r) {
    Index at = i;
    at[axis] = r[0];
    return (*x)(at);
  });
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Index at = i;
    at[axis] = c.dim(0);
    return expr::make_cast(x->dtype, same_value((*best)(at), expr::make_index(i[axis])));
  })};
}

}  // namespace

OpDef op_nn_hardmax() {
  return {.name = "nn.hardmax",
          .doc = "1 at the first largest element along `axis`, 0 elsewhere.",
          .attrs = {attr("axis", -1, "the axis of the choice")},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[B,T,D] B=2 T=4 D=2 axis=1"}};
}

}  // namespace pliant::ops
