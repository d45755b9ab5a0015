// Whether any element over axes is true.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_any() {
  return make_reduce_op(
      {.name = "any", .doc = "Whether any element over axes is true.", .combiner = te::Combiner::Or, .domain = kBools});
}

}  // namespace pliant::ops
