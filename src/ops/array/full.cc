// One value everywhere.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  if (c.in(0)->rank() != 0) return c.fail("shape-mismatch", "the value must have rank 0");
  return std::vector{c.te().map("y", c.attr().as_dims("shape"), [&](const Index&) { return (*c.in(0))({}); })};
}

}  // namespace

OpDef op_array_full() {
  return {.name = "array.full",
          .doc = "The value at every place of `shape`.",
          .attrs = {required_attr("shape", AttrKind::Dims, "the sizes")},
          .compute = compute,
          .samples = {"f32[] M=2 N=3 shape=[M,N]", "i64[] shape=[4]", "bool[] shape=[]"}};
}

}  // namespace pliant::ops
