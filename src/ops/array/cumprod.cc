// The running product along an axis.
#include "ops/bodies/running.h"

namespace pliant::ops {

OpDef op_array_cumprod() {
  return make_running_op("array.cumprod", "The running product along `axis`.", te::Combiner::Prod);
}

}  // namespace pliant::ops
