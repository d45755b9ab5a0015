#include "ops/bodies/normalise.h"

namespace pliant::ops {

Result<SoftmaxParts> softmax_parts(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  Tensor x = c.in(0);
  SoftmaxParts p;
  p.axes = TRY(reduced_axes(c, x->shape, {c.attr().as_int("axis")}));
  DType work = wide(x->dtype);
  auto value = [x, work](const Index& i) { return expr::make_cast(work, (*x)(i)); };
  Tensor highest = reduce_kept(c, "highest", p.axes, te::Combiner::Max, value);
  expr::Context* ctx = &c.ctx();
  p.shifted = [=, axes = p.axes](const Index& i) { return value(i) - (*highest)(kept_index(axes, i, *ctx)); };
  return p;
}

Statistics statistics(DefineContext& c, const ReducedAxes& axes, double epsilon,
                      const std::function<Scalar(const Index&)>& value) {
  Tensor sum = reduce_kept(c, "sum", axes, te::Combiner::Sum, value);
  Tensor mean = c.te().map("mean", axes.kept, [&](const Index& i) {
    Scalar s = (*sum)(i);
    return s / number(s.dtype(), axes.count);
  });
  Tensor squares = reduce_kept(c, "squares", axes, te::Combiner::Sum, [&](const Index& i) {
    Scalar d = value(i) - (*mean)(kept_index(axes, i, c.ctx()));
    return d * d;
  });
  Tensor variance = c.te().map("variance", axes.kept, [&](const Index& i) {
    Scalar s = (*squares)(i);
    return s / number(s.dtype(), axes.count);
  });
  Tensor inverse = c.te().map("inverse_deviation", axes.kept,
                              [&](const Index& i) { return 1.0 / unary(UnaryOp::Sqrt, (*variance)(i) + epsilon); });
  return {mean, inverse, variance};
}

Result<std::vector<int64_t>> trailing_axes(DefineContext& c, int64_t axis, size_t rank) {
  std::vector<int64_t> axes;
  for (size_t k = TRY(c.axis(axis, rank)); k < rank; ++k) axes.push_back(static_cast<int64_t>(k));
  return axes;
}

}  // namespace pliant::ops
