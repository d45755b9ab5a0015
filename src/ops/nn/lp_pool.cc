// The p-norm of each window.
#include "ops/bodies/window/pool.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  Pool p = TRY(read_pool(c));
  double power = static_cast<double>(c.attr().as_int("p"));
  DType work = wide(x->dtype);
  Tensor sum = c.te().reduce("sum", p.shape, p.taps(), te::Combiner::Sum, [&](const Index& o, const Index& r) {
    Scalar v = unary(UnaryOp::Abs, expr::make_cast(work, (*x)(p.index(o, r)))), inside = p.inside(o, r, c.ctx());
    v = make_binary(BinaryOp::Pow, v, constant_like(v, power));
    return inside ? expr::make_select(inside, v, constant_like(v, 0)) : v;
  });
  return std::vector{c.te().map("y", p.shape, [&](const Index& o) {
    Scalar s = (*sum)(o);
    return expr::make_cast(x->dtype, make_binary(BinaryOp::Pow, s, constant_like(s, 1.0 / power)));
  })};
}

}  // namespace

OpDef op_nn_lp_pool() {
  return {.name = "nn.lp_pool",
          .doc = "The p-norm of each window.",
          .attrs = pool_attrs() + std::vector<AttrSpec>{attr("p", 2, "the power")},
          .compute = compute,
          .samples = {"f32[B,2,H,W] B=1 H=5 W=4 kernel=[2,2] strides=[2,2]", "f32[B,1,L] B=1 L=7 kernel=[3] pads=[1,1] p=3",
                      "f16[B,L,2] B=1 L=5 kernel=[2] layout=NHWC"}};
}

}  // namespace pliant::ops
