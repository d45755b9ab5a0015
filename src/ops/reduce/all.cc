// Whether all elements over axes are true.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_all() {
  return make_reduce_op(
      {.name = "all", .doc = "Whether all elements over axes are true.", .combiner = te::Combiner::And, .domain = kBools});
}

}  // namespace pliant::ops
