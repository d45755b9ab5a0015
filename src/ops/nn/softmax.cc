// Exponentials along an axis, scaled to sum to one.
#include "ops/bodies/normalise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  SoftmaxParts p = TRY(softmax_parts(c));
  Tensor e = c.te().map("exp", x->shape, [&](const Index& i) { return unary(UnaryOp::Exp, p.shifted(i)); });
  Tensor sum = reduce_kept(c, "sum", p.axes, te::Combiner::Sum, [&](const Index& i) { return (*e)(i); });
  // One division a sum instead of one an element.
  Tensor scale = c.te().map("scale", p.axes.kept, [&](const Index& i) {
    Scalar s = (*sum)(i);
    return expr::make_const(c.ctx(), s.dtype(), 1) / s;
  });
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    return expr::make_cast(x->dtype, (*e)(i) * (*scale)(kept_index(p.axes, i, c.ctx())));
  })};
}

}  // namespace

OpDef op_nn_softmax() {
  return {.name = "nn.softmax",
          .doc = "Exponentials along `axis`, scaled so that they sum to one.",
          .attrs = {attr("axis", -1, "the axis that sums to one")},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[B,T,D] B=2 T=7 D=1 axis=1", "f32[M,N] M=0 N=4", "f64[M] M=4 axis=0"}};
}

}  // namespace pliant::ops
