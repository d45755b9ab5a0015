// The logarithm of softmax, without taking exponentials apart.
#include "ops/bodies/normalise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  SoftmaxParts p = TRY(softmax_parts(c));
  Tensor sum =
      reduce_kept(c, "sum", p.axes, te::Combiner::Sum, [&](const Index& i) { return unary(UnaryOp::Exp, p.shifted(i)); });
  Tensor log = c.te().map("log", p.axes.kept, [&](const Index& i) { return unary(UnaryOp::Log, (*sum)(i)); });
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    return expr::make_cast(x->dtype, p.shifted(i) - (*log)(kept_index(p.axes, i, c.ctx())));
  })};
}

}  // namespace

OpDef op_nn_log_softmax() {
  return {.name = "nn.log_softmax",
          .doc = "The logarithm of softmax along `axis`.",
          .attrs = {attr("axis", -1, "the axis whose exponentials sum to one")},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f16[B,T,D] B=2 T=7 D=1 axis=1", "f64[M] M=4 axis=0"}};
}

}  // namespace pliant::ops
