// The mean over axes.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_mean() {
  return make_reduce_op({.name = "mean",
                         .doc = "The mean over axes.",
                         .combiner = te::Combiner::Sum,
                         .work = wide,
                         .post = [](Scalar sum, Scalar count) { return sum / count; }});
}

}  // namespace pliant::ops
