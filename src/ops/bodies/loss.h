// Losses over classes in axis 1.
#pragma once
#include "ops/bodies/reduction.h"

namespace pliant::ops {

// The weighted negative log probabilities of the targets, reduced as the attribute `reduction` says. `log_probability` reads
// [batch, class, …]; input 1 holds the targets [batch, …], input 2 the classes' weights, if any.
Result<Tensor> negative_log_likelihood(DefineContext& c, const std::function<Scalar(const Index&)>& log_probability);

std::vector<AttrSpec> loss_attrs();

}  // namespace pliant::ops
