// The upper or lower triangle of matrices.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  if (x->rank() < 2)
    return c.fail("shape-mismatch", "a triangle needs rank 2 but the input has " + std::to_string(x->rank()));
  Dim k = c.attr().has("k") ? c.attr().as_dim("k") : c.dim(0);
  bool upper = c.attr().as_bool("upper");
  size_t r = x->rank();
  // Diagonals outside of the matrix are all alike; near ones keep sums with positions small.
  if (!c.ctx().proves_less_equal(k, x->shape[r - 1])) k = expr::min(k, x->shape[r - 1]);
  if (!c.ctx().proves_less_equal(-x->shape[r - 2], k)) k = expr::max(k, -x->shape[r - 2]);
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Dim diagonal = i[r - 2] + k;
    Scalar kept = upper ? expr::less_equal(diagonal, i[r - 1]) : expr::less_equal(i[r - 1], diagonal);
    return expr::make_select(kept, (*x)(i), expr::make_const(c.ctx(), x->dtype, 0));
  })};
}

}  // namespace

OpDef op_array_trilu() {
  return {
      .name = "array.trilu",
      .doc = "The matrix on and above (or below) diagonal `k`, zero elsewhere.",
      .attrs = {optional_attr("k", AttrKind::Dim, "the diagonal; 0 when absent"), attr("upper", true, "the upper triangle")},
      .compute = compute,
      .samples = {"f32[M,N] M=3 N=4", "i64[B,M,N] B=2 M=3 N=3 upper=false k=-1", "f32[M,N] M=3 N=4 K=1 k=K"}};
}

}  // namespace pliant::ops
