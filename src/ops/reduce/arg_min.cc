// Where the smallest element along an axis stands.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_arg_min() {
  return make_arg_op("reduce.arg_min", "The position of the smallest element along `axis`.", te::Combiner::ArgMin,
                     te::Combiner::ArgMinLast);
}

}  // namespace pliant::ops
