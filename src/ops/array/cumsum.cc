// The running sum along an axis.
#include "ops/bodies/running.h"

namespace pliant::ops {

OpDef op_array_cumsum() { return make_running_op("array.cumsum", "The running sum along `axis`.", te::Combiner::Sum); }

}  // namespace pliant::ops
