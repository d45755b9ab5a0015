// The same bytes as another type of the same size.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  DType to = c.attr().as_dtype("to");
  if (byte_size(to) != byte_size(c.in(0)->dtype))
    return c.fail("type-mismatch", std::string(name_of(c.in(0)->dtype)) + " and " + name_of(to) + " have different sizes");
  return std::vector{c.te().map("y", c.in(0)->shape, [&](const Index& i) { return expr::make_bitcast(to, (*c.in(0))(i)); })};
}

}  // namespace

OpDef op_math_bitcast() {
  return {.name = "math.bitcast",
          .doc = "The bytes of each element read as another type of the same size.",
          .attrs = {required_attr("to", AttrKind::DType, "the element type of the result")},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5 to=i32", "u8[M] M=4 to=i8", "i64[M] M=3 to=f64", "f16[M] M=3 to=u16"}};
}

}  // namespace pliant::ops
