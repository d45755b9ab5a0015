// The sum of products that every convolution is.
#pragma once
#include "ops/bodies/window/window.h"

namespace pliant::ops {

struct Convolution {
  Layout layout;
  Window window;
  Tensor sum;  // before the bias, in `work`
};
// `x` and `w` give elements in type `work` at full indices of the inputs 'x_shape' and 'w_shape' (O, I / group, kernel).
struct ConvolutionSource {
  std::vector<Dim> x_shape, w_shape;
  std::function<Scalar(const Index&)> x, w;
  DType work = DType::F32;
};
// The ranks must have been asked for by require_weight().
Result<Convolution> convolve(DefineContext& c, const ConvolutionSource& source);
// A weight must have as many axes as the input, and these at least three.
Status require_weight(DefineContext& c, size_t input, size_t weight);
// The shape of a bias must be [O].
Status require_bias(DefineContext& c, size_t input, Dim channels);

}  // namespace pliant::ops
