// The smallest element over axes; NaN wins.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_min() {
  return make_reduce_op(
      {.name = "min", .doc = "The smallest element over axes; NaN wins.", .combiner = te::Combiner::Min, .domain = kAny});
}

}  // namespace pliant::ops
