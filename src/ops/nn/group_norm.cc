// Normalisation over groups of channels and all spatial axes.
#include "ops/bodies/normalise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  if (x->rank() < 2) return c.fail("shape-mismatch", "group normalisation needs batch and channels");
  DType stash = x->dtype == DType::F64 ? DType::F64 : c.attr().as_dtype("stash");
  int64_t groups = c.attr().as_int("groups");
  if (groups < 1) return c.fail("bad-attribute", "groups must be positive");
  bool per_group = c.attr().as_bool("per_group");
  TRY(c.require_equal(expr::mod(x->shape[1], groups), c.dim(0), "the channels divided by groups leave a rest and 0"));
  Dim width = expr::floordiv(x->shape[1], groups);
  for (size_t k : {size_t{1}, size_t{2}}) {
    TRY(c.require_same_dtype(0, k));
    if (c.in(k)->rank() != 1) return c.fail("shape-mismatch", "scale and bias must have rank 1");
    TRY(c.require_equal(c.in(k)->shape[0], per_group ? c.dim(groups) : x->shape[1], "scale or bias and what it belongs to"));
  }
  // Statistics live on [batch, group, 1, 1, …]; x is seen as [batch, group, width, spatial…].
  std::vector<Dim> grouped{x->shape[0], c.dim(groups), width};
  grouped.insert(grouped.end(), x->shape.begin() + 2, x->shape.end());
  std::vector<int64_t> inner;
  for (size_t k = 2; k < grouped.size(); ++k) inner.push_back(static_cast<int64_t>(k));
  ReducedAxes axes = TRY(reduced_axes(c, grouped, inner));
  Statistics s = statistics(c, axes, c.attr().as_float("epsilon"), [&](const Index& g) {
    Index at{g[0], g[1] * width + g[2]};
    at.insert(at.end(), g.begin() + 3, g.end());
    return expr::make_cast(stash, (*x)(at));
  });
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Index kept(grouped.size(), c.dim(0));
    kept[0] = i[0];
    kept[1] = expr::floordiv(i[1], width);
    Index channel{per_group ? kept[1] : i[1]};
    Scalar v = expr::make_cast(x->dtype, (expr::make_cast(stash, (*x)(i)) - (*s.mean)(kept)) * (*s.inverse_deviation)(kept));
    return v * (*c.in(1))(channel) + (*c.in(2))(channel);
  })};
}

}  // namespace

OpDef op_nn_group_norm() {
  return {
      .name = "nn.group_norm",
      .doc =
          "Values scaled to mean 0 and variance 1 over each group of channels and the spatial axes, then scaled and "
          "shifted.",
      .attrs = {required_attr("groups", AttrKind::Int, "the number of groups"),
                attr("epsilon", 1e-5, "added to the variance"),
                attr("stash", DType::F32, "the type of the statistics; f64 for f64 inputs"),
                attr("per_group", false, "scale and bias have one element a group, not a channel")},
      .min_inputs = 3,
      .max_inputs = 3,
      .compute = compute,
      .samples = {"f32[B,4,H,W] f32[4] f32[4] B=2 H=3 W=2 groups=2",
                  "f16[B,6,L] f16[3] f16[3] B=2 L=5 groups=3 per_group=true", "f32[B,C] f32[C] f32[C] B=2 C=4 groups=2"}};
}

}  // namespace pliant::ops
