// The logarithm of the sum of exponentials, shifted by the maximum so that it stays finite where the result does.
#include "ops/bodies/reduction.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kNumbers));
  const Tensor& x = c.in(0);
  DType work = real(x->dtype);
  ReducedAxes axes = TRY(reduced_axes_from_dims(c, x->shape, c.attr().as_dims("axes")));
  auto value = [&](const Index& i) { return expr::make_cast(work, (*x)(i)); };
  Tensor highest = reduce_kept(c, "highest", axes, te::Combiner::Max, value);
  // An infinite maximum gives no shift: inf - inf would be NaN.
  auto shift = [&](const Index& kept) {
    Scalar m = (*highest)(kept);
    return expr::make_select(unary(UnaryOp::IsInf, m), constant_like(m, 0), m);
  };
  Tensor sum = reduce_kept(c, "sum", axes, te::Combiner::Sum, [&](const Index& i) {
    return unary(UnaryOp::Exp, value(i) - shift(kept_index(axes, i, c.ctx())));
  });
  Tensor kept = c.te().map("log", axes.kept, [&](const Index& i) {
    return expr::make_cast(x->dtype, unary(UnaryOp::Log, (*sum)(i)) + shift(i));
  });
  return std::vector{finish_reduction(c, axes, kept, c.attr().as_bool("keepdims"), {})};
}

}  // namespace

OpDef op_reduce_log_sum_exp() {
  return {.name = "reduce.log_sum_exp",
          .doc = "log(sum(exp(x))) over axes, computed so that it does not overflow.",
          .attrs = reduce_attrs(),
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=4 axes=[1]", "f32[A,B,C] A=2 B=3 C=2 axes=[0,2] keepdims=false", "f16[M] M=5 axes=[0]",
                      "f32[M] M=3 axes=[]", "f32[M,N] M=3 N=4 A=1 axes=[A] keepdims=false"}};
}

}  // namespace pliant::ops
