// Broadcasting with a shape.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  std::vector<Dim> shape = TRY(c.broadcast(c.in(0)->shape, c.attr().as_dims("shape")));
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) { return c.at_broadcast(c.in(0), i); })};
}

}  // namespace

OpDef op_array_expand() {
  return {.name = "array.expand",
          .doc = "The input broadcast together with `shape`: an axis where `shape` is 1 keeps the input's size.",
          .attrs = {required_attr("shape", AttrKind::Dims, "sizes to broadcast with")},
          .compute = compute,
          .samples = {"f32[M,1] M=3 shape=[2,M,4]", "i64[1] shape=[3,1]", "f32[M,N] M=2 N=3 shape=[1,1]",
                      "f32[] shape=[2,3]", "f32[M] M=1 shape=[4]"}};
}

}  // namespace pliant::ops
