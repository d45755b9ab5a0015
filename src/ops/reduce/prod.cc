// The product over axes.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_prod() {
  return make_reduce_op({.name = "prod", .doc = "The product over axes.", .combiner = te::Combiner::Prod});
}

}  // namespace pliant::ops
