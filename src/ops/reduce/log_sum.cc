// The logarithm of the sum over axes.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_log_sum() {
  return make_reduce_op({.name = "log_sum",
                         .doc = "The logarithm of the sum over axes.",
                         .combiner = te::Combiner::Sum,
                         .work = real,
                         .post = [](Scalar sum, Scalar) { return unary(UnaryOp::Log, sum); }});
}

}  // namespace pliant::ops
