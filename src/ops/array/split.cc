// An axis cut into parts.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), x->rank()));
  const std::vector<Dim>& sizes = c.attr().as_dims("sizes");
  if (sizes.size() != c.output_count())
    return c.fail("output-count", "a split into " + std::to_string(sizes.size()) + " parts has " +
                                      std::to_string(c.output_count()) + " outputs");
  Dim begin = c.dim(0);
  std::vector<Tensor> parts;
  for (Dim size : sizes) {
    TRY(c.require_less_equal(c.dim(0), size, "the size of a part"));
    std::vector<Dim> shape = x->shape;
    shape[axis] = size;
    parts.push_back(c.te().map("part", std::move(shape), [&](const Index& i) {
      Index at = i;
      at[axis] = begin + i[axis];
      return (*x)(at);
    }));
    begin = begin + size;
  }
  TRY(c.require_equal(begin, x->shape[axis], "the sum of the parts and the size of the axis"));
  return parts;
}

}  // namespace

OpDef op_array_split() {
  return {.name = "array.split",
          .doc = "Consecutive parts of `axis` with the given sizes, one an output.",
          .attrs = {required_attr("axis", AttrKind::Int, "the axis to cut"),
                    required_attr("sizes", AttrKind::Dims, "the parts' sizes")},
          .outputs = -1,
          .compute = compute,
          .samples = {"f32[M,6] M=3 axis=1 sizes=[2,3,1] outputs=3", "f32[M] M=5 axis=0 sizes=[2,M-2] outputs=2",
                      "f32[M] M=5 axis=0 sizes=[M] outputs=1"}};
}

}  // namespace pliant::ops
