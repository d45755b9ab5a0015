// The sum of products behind every matrix product.
#pragma once
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;  // the last two axes; a vector is not changed
};
// The sum over the inner dimension of load_a * load_b, which get full indices of a and b; batches broadcast, a vector counts
// as a row on the left and a column on the right.
Result<Tensor> matmul_sum(DefineContext& c, const Tensor& a, const Tensor& b, MatmulOptions options,
                          const std::function<Scalar(const Index&)>& load_a,
                          const std::function<Scalar(const Index&)>& load_b);

}  // namespace pliant::ops
