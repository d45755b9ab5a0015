#include "ops/bodies/division.h"

namespace pliant::ops {

Tensors divided(DefineContext& c, BinaryOp op) {
  TRY(c.require_same_dtype(0, 1));
  TRY(require_domain(c, 0, kNumbers));
  const Tensor& divisors = c.in(1);
  std::vector<Dim> shape = TRY(c.broadcast(c.in(0)->shape, divisors->shape));
  // Asked at each element of the result, where the divisor is at hand.
  if (is_int(divisors->dtype) && !c.attr().as_bool("nonzero")) {
    Tensor ok = c.te().map("divides", shape, [&](const Index& i) {
      Scalar b = c.at_broadcast(divisors, i);
      return make_binary(BinaryOp::Ne, b, constant_like(b, 0));
    });
    c.add_check({std::move(ok), "integer division by zero", {}});
  }
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    return make_binary(op, c.at_broadcast(c.in(0), i), c.at_broadcast(divisors, i));
  })};
}

}  // namespace pliant::ops
