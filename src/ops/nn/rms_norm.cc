// Division by the root mean square over the last axes.
#include "ops/bodies/normalise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  DType stash = x->dtype == DType::F64 ? DType::F64 : c.attr().as_dtype("stash");
  if (!is_float(stash)) return c.fail("bad-attribute", "the type of the statistics must be a float");
  ReducedAxes axes = TRY(reduced_axes(c, x->shape, TRY(trailing_axes(c, c.attr().as_int("axis"), x->rank()))));
  auto value = [&](const Index& i) { return expr::make_cast(stash, (*x)(i)); };
  if (c.has(1)) {
    TRY(c.require_same_dtype(0, 1));
    std::vector<Dim> both = TRY(c.broadcast(x->shape, c.in(1)->shape));
    if (both.size() != x->rank()) return c.fail("shape-mismatch", "the scale may not have more axes than the input");
  }
  Tensor squares = reduce_kept(c, "squares", axes, te::Combiner::Sum, [&](const Index& i) { return value(i) * value(i); });
  Tensor inverse = c.te().map("inverse_rms", axes.kept, [&](const Index& i) {
    Scalar s = (*squares)(i);
    return 1.0 / unary(UnaryOp::Sqrt, s / number(s.dtype(), axes.count) + c.attr().as_float("epsilon"));
  });
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Scalar v = expr::make_cast(x->dtype, value(i) * (*inverse)(kept_index(axes, i, c.ctx())));
    return c.has(1) ? v * c.at_broadcast(c.in(1), i) : v;
  })};
}

}  // namespace

OpDef op_nn_rms_norm() {
  return {.name = "nn.rms_norm",
          .doc = "Values divided by their root mean square over `axis` and all after it, then scaled.",
          .attrs = {attr("axis", -1, "the first normalised axis"), attr("epsilon", 1e-5, "added to the mean square"),
                    attr("stash", DType::F32, "the type of the statistics; f64 for f64 inputs")},
          .min_inputs = 1,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[M,N] f32[N] M=3 N=5", "f16[A,B,C] f16[B,C] A=2 B=3 C=4 axis=1", "f64[M,N] M=2 N=4"}};
}

}  // namespace pliant::ops
