// The negative log likelihood of targets.
#include "ops/bodies/loss.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  return std::vector{TRY(negative_log_likelihood(c, [&](const Index& i) { return (*c.in(0))(i); }))};
}

}  // namespace

OpDef op_nn_nll_loss() {
  return {.name = "nn.nll_loss",
          .doc = "The negative log probabilities of the targets, weighted by class, one by one, summed or as their mean.",
          .attrs = loss_attrs(),
          .min_inputs = 2,
          .max_inputs = 3,
          .compute = compute,
          .samples = {"f32[B,4] i64[B]@0..4 B=3", "f32[B,4,L] i32[B,L]@-1..4 f32[4] B=2 L=3 ignore_index=-1",
                      "f32[B,3] i64[B]@0..3 f32[3] B=4 reduction=none", "f32[B,3] i64[B]@0..3 B=4 reduction=sum"}};
}

}  // namespace pliant::ops
