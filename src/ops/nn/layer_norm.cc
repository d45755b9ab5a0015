// Normalisation over the last axes: (x - mean) / sqrt(variance + epsilon) * scale + bias. Statistics and the normalised
// value are computed in `stash`; the scaling happens in the input's type.
#include "ops/bodies/normalise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  DType stash = c.attr().as_dtype("stash");
  if (!is_float(stash)) return c.fail("bad-attribute", "the type of the statistics must be a float");
  if (x->dtype == DType::F64) stash = DType::F64;
  ReducedAxes axes = TRY(reduced_axes(c, x->shape, TRY(trailing_axes(c, c.attr().as_int("axis"), x->rank()))));
  auto value = [&](const Index& i) { return expr::make_cast(stash, (*x)(i)); };
  for (size_t k : {size_t{1}, size_t{2}}) {
    if (!c.has(k)) continue;
    TRY(c.require_same_dtype(0, k));
    std::vector<Dim> both = TRY(c.broadcast(x->shape, c.in(k)->shape));
    if (both.size() != x->rank()) return c.fail("shape-mismatch", "scale and bias may not have more axes than the input");
  }
  Statistics s = statistics(c, axes, c.attr().as_float("epsilon"), value);
  Tensor y = c.te().map("y", x->shape, [&](const Index& i) {
    Index kept = kept_index(axes, i, c.ctx());
    Scalar v = expr::make_cast(x->dtype, (value(i) - (*s.mean)(kept)) * (*s.inverse_deviation)(kept));
    if (c.has(1)) v = v * c.at_broadcast(c.in(1), i);
    if (c.has(2)) v = v + c.at_broadcast(c.in(2), i);
    return v;
  });
  return std::vector{y, s.mean, s.inverse_deviation};
}

}  // namespace

OpDef op_nn_layer_norm() {
  return {.name = "nn.layer_norm",
          .doc =
              "Values scaled to mean 0 and variance 1 over `axis` and all after it, then scaled and shifted; with the mean "
              "and the "
              "inverse deviation as further outputs.",
          .attrs = {attr("axis", -1, "the first normalised axis"), attr("epsilon", 1e-5, "added to the variance"),
                    attr("stash", DType::F32, "the type of the statistics; f64 for f64 inputs")},
          .min_inputs = 1,
          .max_inputs = 3,
          .outputs = 3,
          .compute = compute,
          .samples = {"f32[M,N] f32[N] f32[N] M=3 N=5", "f32[A,B,C] f32[B,C] A=2 B=3 C=4 axis=1",
                      "f16[M,N] f16[N] f16[N] M=2 N=8 outputs=3", "f64[M,N] M=2 N=4 epsilon=0.1",
                      "f32[A,B,C] f32[1,C] f32[B,1] A=2 B=3 C=4 axis=1"}};
}

}  // namespace pliant::ops
