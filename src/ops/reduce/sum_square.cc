// The sum of squares over axes.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_sum_square() {
  return make_reduce_op({.name = "sum_square",
                         .doc = "The sum of squares over axes.",
                         .combiner = te::Combiner::Sum,
                         .work = wide,
                         .pre = [](Scalar x) { return x * x; }});
}

}  // namespace pliant::ops
