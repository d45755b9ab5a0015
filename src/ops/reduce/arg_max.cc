// Where the largest element along an axis stands.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_arg_max() {
  return make_arg_op("reduce.arg_max", "The position of the largest element along `axis`.", te::Combiner::ArgMax,
                     te::Combiner::ArgMaxLast);
}

}  // namespace pliant::ops
