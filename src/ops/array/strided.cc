// Evenly spaced positions along every axis.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  AttrReader a = c.attr();
  const std::vector<Dim>&starts = a.as_dims("starts"), &steps = a.as_dims("steps"), &sizes = a.as_dims("sizes");
  if (starts.size() != x->rank() || steps.size() != x->rank() || sizes.size() != x->rank())
    return c.fail("bad-attribute", "starts, steps and sizes need one entry for each of the " + std::to_string(x->rank()) +
                                       " axes of the data");
  return std::vector{c.te().map("y", sizes, [&](const Index& i) {
    Index at(i.size());
    for (size_t k = 0; k < i.size(); ++k) at[k] = starts[k] + i[k] * steps[k];
    return (*x)(at);
  })};
}

}  // namespace

OpDef op_array_strided() {
  return {.name = "array.strided",
          .doc = "`sizes` positions from `starts` on, `steps` apart, along every axis; all of them exist.",
          .attrs = {required_attr("starts", AttrKind::Dims, "first positions, one an axis"),
                    required_attr("steps", AttrKind::Dims, "distances, of any sign"),
                    required_attr("sizes", AttrKind::Dims, "numbers of positions")},
          .compute = compute,
          .samples = {"f32[M,N] M=5 N=6 starts=[1,5] steps=[2,-1] sizes=[2,N-1]",
                      "i64[M,N,3] M=4 N=2 starts=[0,0,2] steps=[1,N,-2] sizes=[M,1,2]",
                      "f32[M] M=0 starts=[-1] steps=[-1] sizes=[M]"}};
}

}  // namespace pliant::ops
