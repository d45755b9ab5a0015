// Matrix products with numpy's rules: batches broadcast, vectors count as a row on the left and a column on the right.
#include "ops/bodies/contraction.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  DType to = c.attr().has("to") ? c.attr().as_dtype("to") : a->dtype;
  if (!c.attr().has("to")) TRY(c.require_same_dtype(0, 1));
  TRY(require_domain(c, 0, kNumbers));
  TRY(require_domain(c, 1, kNumbers));
  DType sum = wide(to);
  Tensor product = TRY(matmul_sum(
      c, a, b, {c.attr().as_bool("transpose_a"), c.attr().as_bool("transpose_b")},
      [&](const Index& i) { return expr::make_cast(sum, (*a)(i)); },
      [&](const Index& i) { return expr::make_cast(sum, (*b)(i)); }));
  if (sum == to) return std::vector{product};
  return std::vector{c.te().map("y", product->shape, [&](const Index& i) { return expr::make_cast(to, (*product)(i)); })};
}

}  // namespace

OpDef op_nn_matmul() {
  return {.name = "nn.matmul",
          .doc = "The matrix product, with numpy's rules for batches and vectors.",
          .attrs = {attr("transpose_a", false, "the last two axes of a swapped; no effect on a vector"),
                    attr("transpose_b", false, "the last two axes of b swapped; no effect on a vector"),
                    optional_attr("to", AttrKind::DType, "type of sums and result; the inputs' when absent")},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[M,K] f32[K,N] M=3 K=4 N=5", "f32[B,1,M,K] f32[C,K,N] B=2 C=3 M=2 K=3 N=2", "f32[K] f32[K] K=5",
                      "f32[K] f32[B,K,N] K=3 B=2 N=4", "f32[M,K] f32[K] M=3 K=2",
                      "f32[K,M] f32[N,K] M=2 K=3 N=4 transpose_a=true transpose_b=true", "f16[M,K] f16[K,N] M=2 K=9 N=3",
                      "i8[M,K] u8[K,N] M=2 K=5 N=2 to=i32", "i32[M,K] i32[K,N] M=2 K=3 N=2", "f64[M,K] f64[K,1] M=2 K=3"}};
}

}  // namespace pliant::ops
