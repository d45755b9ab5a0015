// What operators share that scale values by statistics over axes.
#pragma once
#include "ops/bodies/reduction.h"

namespace pliant::ops {

// x less the maximum along an axis, in the type of the arithmetic.
struct SoftmaxParts {
  ReducedAxes axes;
  std::function<Scalar(const Index&)> shifted;
};
Result<SoftmaxParts> softmax_parts(DefineContext& c);

// Mean and 1 / sqrt(variance + epsilon) over axes of `value`, in its type; both have the kept shape. Two passes: the
// variance is the mean square of the differences.
struct Statistics {
  Tensor mean, inverse_deviation, variance;
};
Statistics statistics(DefineContext& c, const ReducedAxes& axes, double epsilon,
                      const std::function<Scalar(const Index&)>& value);
// The axes from `axis` to the last.
Result<std::vector<int64_t>> trailing_axes(DefineContext& c, int64_t axis, size_t rank);

}  // namespace pliant::ops
