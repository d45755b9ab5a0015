// Normalisation of each channel by given statistics, or in training by those of the batch.
#include "ops/bodies/normalise.h"
#include "ops/bodies/window/window.h"

namespace pliant::ops {
namespace {

size_t channel_axis(DefineContext& c) {
  size_t rank = c.in(0)->rank();
  return c.attr().as_string("layout") == "NHWC" ? rank - 1 : std::min<size_t>(1, rank - 1);
}

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  if (x->rank() == 0) return c.fail("shape-mismatch", "batch normalisation needs a batch axis");
  size_t channel = channel_axis(c);
  Dim channels = x->rank() == 1 ? c.dim(1) : x->shape[channel];
  for (size_t k = 1; k < 5; ++k) {
    TRY(require_domain(c, k, kFloats));
    if (c.in(k)->rank() != 1) return c.fail("shape-mismatch", "scale, bias, mean and variance must have rank 1");
    TRY(c.require_equal(c.in(k)->shape[0], channels, "scale, bias, mean or variance and the channels"));
  }
  DType work = wide(x->dtype);
  double epsilon = c.attr().as_float("epsilon"), momentum = c.attr().as_float("momentum");
  auto position = [&](const Index& i) { return x->rank() == 1 ? c.dim(0) : i[channel]; };
  auto param = [&](size_t k, Dim at) { return expr::make_cast(work, (*c.in(k))({at})); };
  auto value = [&](const Index& i) { return expr::make_cast(work, (*x)(i)); };
  if (!c.attr().as_bool("training")) {
    if (c.output_count() > 1) return c.fail("output-count", "running statistics are outputs of training only");
    return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
      Dim at = position(i);
      Scalar inverse = 1.0 / unary(UnaryOp::Sqrt, param(4, at) + epsilon);
      return expr::make_cast(x->dtype, (value(i) - param(3, at)) * (inverse * param(1, at)) + param(2, at));
    })};
  }
  std::vector<int64_t> others;
  for (size_t k = 0; k < x->rank(); ++k)
    if (k != channel || x->rank() == 1) others.push_back(static_cast<int64_t>(k));
  ReducedAxes axes = TRY(reduced_axes(c, x->shape, others));
  Statistics s = statistics(c, axes, epsilon, value);
  Tensor y = c.te().map("y", x->shape, [&](const Index& i) {
    Index kept = kept_index(axes, i, c.ctx());
    Dim at = position(i);
    return expr::make_cast(x->dtype,
                           (value(i) - (*s.mean)(kept)) * ((*s.inverse_deviation)(kept)*param(1, at)) + param(2, at));
  });
  auto running = [&](size_t k, const Tensor& current) {
    return c.te().map("running", {channels}, [&](const Index& i) {
      Index kept(x->rank(), c.dim(0));
      if (x->rank() > 1) kept[channel] = i[0];
      return expr::make_cast(c.in(k)->dtype, param(k, i[0]) * momentum + (*current)(kept) * (1.0 - momentum));
    });
  };
  return std::vector{y, running(3, s.mean), running(4, s.variance)};
}

}  // namespace

OpDef op_nn_batch_norm() {
  return {.name = "nn.batch_norm",
          .doc =
              "(x - mean) / sqrt(variance + epsilon) * scale + bias for each channel; training uses and returns running "
              "statistics.",
          .attrs = {attr("epsilon", 1e-5, "added to the variance"), attr("training", false, "statistics of the batch"),
                    attr("momentum", 0.9, "weight of the old running statistics"), layout_attr()},
          .min_inputs = 5,
          .max_inputs = 5,
          .outputs = 3,
          .compute = compute,
          .samples = {"f32[B,C,H,W] f32[C] f32[C] f32[C] f32[C]@1..3 B=2 C=3 H=2 W=4",
                      "f32[B,H,C] f32[C] f32[C] f32[C] f32[C]@1..3 B=2 C=3 H=2 layout=NHWC",
                      "f32[B,C,H] f32[C] f32[C] f32[C] f32[C]@1..3 B=2 C=3 H=5 training=true outputs=3",
                      "f16[B,C] f16[C] f16[C] f16[C] f16[C]@1..2 B=3 C=2"}};
}

}  // namespace pliant::ops
