// The cross entropy of scores and targets.
#include "ops/bodies/loss.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  ReducedAxes axes = TRY(reduced_axes(c, x->shape, {1}));
  DType work = wide(x->dtype);
  auto value = [&](const Index& i) { return expr::make_cast(work, (*x)(i)); };
  Tensor highest = reduce_kept(c, "highest", axes, te::Combiner::Max, value);
  auto shifted = [&](const Index& i) { return value(i) - (*highest)(kept_index(axes, i, c.ctx())); };
  Tensor sum =
      reduce_kept(c, "sum", axes, te::Combiner::Sum, [&](const Index& i) { return unary(UnaryOp::Exp, shifted(i)); });
  Tensor log = c.te().map("log", axes.kept, [&](const Index& i) { return unary(UnaryOp::Log, (*sum)(i)); });
  Tensor probabilities = c.te().map("log_probability", x->shape, [&](const Index& i) {
    return expr::make_cast(x->dtype, shifted(i) - (*log)(kept_index(axes, i, c.ctx())));
  });
  return std::vector{TRY(negative_log_likelihood(c, [&](const Index& i) { return (*probabilities)(i); })), probabilities};
}

}  // namespace

OpDef op_nn_softmax_cross_entropy() {
  return {.name = "nn.softmax_cross_entropy",
          .doc =
              "The negative log likelihood of targets under the softmax of scores over axis 1; as a second output the log "
              "probabilities.",
          .attrs = loss_attrs(),
          .min_inputs = 2,
          .max_inputs = 3,
          .outputs = 2,
          .compute = compute,
          .samples = {"f32[B,4] i64[B]@0..4 B=3 outputs=2", "f32[B,4,L] i32[B,L]@-1..4 f32[4] B=2 L=3 ignore_index=-1",
                      "f16[B,3] i64[B]@0..3 B=4 reduction=none outputs=2"}};
}

}  // namespace pliant::ops
