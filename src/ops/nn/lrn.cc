// Local response normalisation across channels.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

constexpr int64_t kMostWholeTaps = 256;

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  int64_t size = c.attr().as_int("size");
  if (size < 1) return c.fail("bad-attribute", "the size of a window must be positive");
  if (x->rank() < 2) return c.fail("shape-mismatch", "local response normalisation needs batch and channels");
  double alpha = c.attr().as_float("alpha"), beta = c.attr().as_float("beta"), bias = c.attr().as_float("bias");
  DType work = wide(x->dtype);
  // Of a window that no channels fill, only the places of channels count.
  const Dim channels = x->shape[1], before = c.dim((size - 1) / 2);
  Dim first = c.dim(0), taps = c.dim(size);
  if (size > kMostWholeTaps) {
    first = expr::max(first, before - channels + 1);
    taps = expr::max(c.dim(0), expr::min(taps, before + channels) - first);
  }
  Tensor squares = c.te().reduce("squares", x->shape, {taps}, te::Combiner::Sum, [&](const Index& i, const Index& r) {
    Index at = i;
    at[1] = i[1] + r[0] + first - before;
    Scalar v = expr::make_cast(work, (*x)(at));
    Scalar inside = expr::logical_and(expr::less_equal(c.dim(0), at[1]), expr::less(at[1], x->shape[1]));
    return expr::make_select(inside, v * v, constant_like(v, 0));
  });
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Scalar scale = (*squares)(i) * (alpha / static_cast<double>(size)) + bias;
    return expr::make_cast(x->dtype,
                           expr::make_cast(work, (*x)(i)) / make_binary(BinaryOp::Pow, scale, constant_like(scale, beta)));
  })};
}

}  // namespace

OpDef op_nn_lrn() {
  return {.name = "nn.lrn",
          .doc = "x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta.",
          .attrs = {required_attr("size", AttrKind::Int, "channels in a window"), attr("alpha", 1e-4), attr("beta", 0.75),
                    attr("bias", 1.0)},
          .compute = compute,
          .samples = {"f32[B,C,H,W] B=2 C=5 H=2 W=3 size=3", "f16[B,C] B=2 C=4 size=2 alpha=0.1"}};
}

}  // namespace pliant::ops
