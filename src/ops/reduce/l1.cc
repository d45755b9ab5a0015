// The sum of magnitudes over axes.
#include "ops/bodies/reduction.h"

namespace pliant::ops {

OpDef op_reduce_l1() {
  return make_reduce_op(
      {.name = "l1", .doc = "The sum of magnitudes over axes.", .combiner = te::Combiner::Sum, .pre = [](Scalar x) {
         return unary(UnaryOp::Abs, x);
       }});
}

}  // namespace pliant::ops
