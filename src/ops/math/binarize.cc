// 1 where x is more than a threshold, 0 elsewhere.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kNumbers));
  const Tensor& x = c.in(0);
  double threshold = c.attr().as_float("threshold");
  return std::vector{c.te().map("y", x->shape, [&](const te::Index& i) {
    // Compared as f64, which holds every f32 and the thresholds between two integers.
    Scalar wide = expr::make_cast(DType::F64, (*x)(i));
    Scalar above = expr::make_binary(expr::BinaryOp::Gt, wide, expr::make_const(c.ctx(), DType::F64, threshold));
    return expr::make_cast(x->dtype, above);
  })};
}

}  // namespace

OpDef op_math_binarize() {
  return {.name = "math.binarize",
          .doc = "1 where x is more than the threshold, 0 elsewhere, in x's type.",
          .attrs = {attr("threshold", 0.0)},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5 threshold=0.25", "i64[M]@-3..3 M=4 threshold=1.5", "f64[M] M=3"}};
}

}  // namespace pliant::ops
