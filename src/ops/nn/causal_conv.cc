// Depthwise convolution over the past of a sequence, with the steps that the next call needs.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

// Inputs: x [batch, channels, length], w [channels, 1, k], bias?, past? [batch, channels, k - 1].
Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  TRY(require_domain(c, 0, kFloats));
  TRY(c.require_same_dtype(0, 1));
  const std::string& activation = c.attr().as_string("activation");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return c.fail("bad-attribute", "there is no activation '" + activation + "'");
  if (x->rank() != 3 || w->rank() != 3) return c.fail("shape-mismatch", "input and weight must have rank 3");
  Dim k = w->shape[2], before = k - 1, length = x->shape[2];
  TRY(c.require_equal(w->shape[0], x->shape[1], "the channels of weight and input"));
  TRY(c.require_equal(w->shape[1], c.dim(1), "the second axis of a depthwise weight"));
  if (c.has(2)) {
    TRY(c.require_same_dtype(0, 2));
    if (c.in(2)->rank() != 1) return c.fail("shape-mismatch", "a bias must have rank 1");
    TRY(c.require_equal(c.in(2)->shape[0], x->shape[1], "the bias and the channels"));
  }
  if (c.has(3)) {
    TRY(c.require_same_dtype(0, 3));
    if (c.in(3)->rank() != 3) return c.fail("shape-mismatch", "the past must have rank 3");
    TRY(c.require_equal(c.in(3)->shape[2], before, "the past and the kernel less one"));
  }
  // The sequence with its past in front, at position p.
  auto at = [&](Dim n, Dim channel, Dim p) {
    Scalar now = (*x)({n, channel, p - before}), then = c.has(3) ? (*c.in(3))({n, channel, p}) : constant_like(now, 0);
    return expr::make_select(expr::less(p, before), then, now);
  };
  DType work = wide(x->dtype);
  Tensor sum = c.te().reduce("conv", x->shape, {k}, te::Combiner::Sum, [&](const Index& o, const Index& r) {
    return expr::make_cast(work, at(o[0], o[1], o[2] + r[0])) * expr::make_cast(work, (*w)({o[1], c.dim(0), r[0]}));
  });
  Tensor y = c.te().map("y", x->shape, [&](const Index& i) {
    Scalar v = (*sum)(i);
    if (c.has(2)) v = v + expr::make_cast(work, (*c.in(2))({i[1]}));
    if (activation != "none") v = v * unary(UnaryOp::Sigmoid, v);
    return expr::make_cast(x->dtype, v);
  });
  Tensor present = c.te().map("present", {x->shape[0], x->shape[1], before},
                              [&](const Index& i) { return at(i[0], i[1], length + i[2]); });
  return std::vector{y, present};
}

}  // namespace

OpDef op_nn_causal_conv() {
  return {.name = "nn.causal_conv",
          .doc = "Depthwise convolution of a sequence and its past; outputs y and the last k - 1 steps for the next call.",
          .attrs = {attr("activation", "none", "none, silu or swish")},
          .min_inputs = 2,
          .max_inputs = 4,
          .outputs = 2,
          .compute = compute,
          .samples = {"f32[B,C,L] f32[C,1,3] f32[C] f32[B,C,2] B=2 C=3 L=4 outputs=2",
                      "f32[B,C,L] f32[C,1,4] B=1 C=2 L=2 activation=silu outputs=2"}};
}

}  // namespace pliant::ops
