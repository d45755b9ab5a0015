// Conversion between element types.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  DType to = c.attr().as_dtype("to");
  return std::vector{c.te().map("y", c.in(0)->shape, [&](const Index& i) { return expr::make_cast(to, (*c.in(0))(i)); })};
}

}  // namespace

OpDef op_math_cast() {
  return {.name = "math.cast",
          .doc = "The nearest value of another type; floats to integers truncate and saturate, anything to bool is x != 0.",
          .attrs = {required_attr("to", AttrKind::DType, "the element type of the result")},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5 to=i32", "i64[M] M=4 to=f32", "f32[M] M=4 to=bool", "bool[M] M=3 to=f16",
                      "f16[M] M=5 to=bf16", "i32[M] M=4 to=u8"}};
}

}  // namespace pliant::ops
