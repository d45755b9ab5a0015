// Positions along an axis.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const std::vector<Dim>& shape = c.attr().as_dims("shape");
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), shape.size()));
  DType to = c.attr().as_dtype("to");
  return std::vector{c.te().map("y", shape, [&](const Index& i) { return number(to, i[axis]); })};
}

}  // namespace

OpDef op_array_iota() {
  return {.name = "array.iota",
          .doc = "The position along `axis`, as an element of type `to`.",
          .attrs = {required_attr("shape", AttrKind::Dims, "the sizes"),
                    required_attr("axis", AttrKind::Int, "the axis that counts"),
                    required_attr("to", AttrKind::DType, "the element type")},
          .min_inputs = 0,
          .max_inputs = 0,
          .compute = compute,
          .samples = {"M=2 N=3 shape=[M,N] axis=1 to=i64", "M=4 shape=[M] axis=-1 to=f32"}};
}

}  // namespace pliant::ops
