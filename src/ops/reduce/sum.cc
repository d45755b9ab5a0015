// The sum over axes.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_sum() { return make_reduce_op({.name = "sum", .doc = "The sum over axes.", .combiner = te::Combiner::Sum}); }

}  // namespace pliant::ops
