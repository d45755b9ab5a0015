// The root of the sum of squares over axes.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_l2() {
  return make_reduce_op({.name = "l2",
                         .doc = "The root of the sum of squares over axes.",
                         .combiner = te::Combiner::Sum,
                         .work = real,
                         .pre = [](Scalar x) { return x * x; },
                         .post = [](Scalar sum, Scalar) { return unary(UnaryOp::Sqrt, sum); }});
}

}  // namespace pliant::ops
