// Scales and zero points of quantised tensors.
#pragma once
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

// Reads input `scale` and the optional input `zero` of x: rank 0 or one element for the whole tensor, rank 1 along `axis`,
// or x's rank with blocks of `block_size` along it.
struct QuantParams {
  std::function<Scalar(const Index&)> scale;  // at an index of x
  std::function<Scalar(const Index&)> zero;   // as i32; null when there is none
};
Result<QuantParams> read_quant_params(DefineContext& c, size_t scale, size_t zero);

// saturate(round(v) + zero) in type `to`; round goes half to even. `zero` may be null.
Scalar saturate_to(DType to, Scalar v, Scalar zero);
// The i32 value of input `k` (rank 0 or one element), or zero when it is absent.
Scalar single_zero(DefineContext& c, size_t k);
Scalar single(DefineContext& c, size_t k);
Status require_single(DefineContext& c, size_t k);
// `op` of two quantised tensors, quantised again. Inputs: a 0, a_scale 1, a_zero 2, b 3, b_scale 4, b_zero 5, y_scale 6,
// y_zero 7.
Tensors quantised_binary(DefineContext& c, BinaryOp op);

}  // namespace pliant::ops
