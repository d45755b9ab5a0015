#include "ops/division.h"

namespace pliant::ops {

Tensors divided(DefineContext& c, BinaryOp op) {
  TRY(c.require_same_dtype(0, 1));
  TRY(require_domain(c, 0, kNumbers));
  const Tensor& divisors = c.in(1);
  std::vector<Dim> shape = TRY(c.broadcast(c.in(0)->shape, divisors->shape));
  if (is_int(divisors->dtype) && !c.attr().as_bool("nonzero")) {
    // Of a result without elements no quotient is asked for, whatever the divisors are.
    const bool as_many = divisors->shape == shape;
    const Dim count = expr::product(c.ctx(), shape);
    c.add_check({c.te().map("divides", divisors->shape,
                            [&](const Index& i) {
                              Scalar b = (*divisors)(i), ok = make_binary(BinaryOp::Ne, b, constant_like(b, 0));
                              return as_many ? ok : logical_or(ok, expr::equal(count, c.dim(0)));
                            }),
                 "integer division by zero",
                 {}});
  }
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    return make_binary(op, c.at_broadcast(c.in(0), i), c.at_broadcast(divisors, i));
  })};
}

}  // namespace pliant::ops
