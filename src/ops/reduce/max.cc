// The largest element over axes; NaN wins.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_max() {
  return make_reduce_op(
      {.name = "max", .doc = "The largest element over axes; NaN wins.", .combiner = te::Combiner::Max, .domain = kAny});
}

}  // namespace pliant::ops
