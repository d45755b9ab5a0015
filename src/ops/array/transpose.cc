// Axes in another order.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  const std::vector<int64_t>& perm = c.attr().as_ints("perm");
  if (perm.size() != x->rank())
    return c.fail("bad-attribute",
                  "perm names " + std::to_string(perm.size()) + " axes of rank " + std::to_string(x->rank()));
  std::vector<Dim> shape;
  std::vector<size_t> from;
  std::vector<bool> used(perm.size(), false);
  for (int64_t p : perm) {
    // Passes read the list as it stands.
    if (p < 0) return c.fail("axis-out-of-range", "perm counts axis " + std::to_string(p) + " from the end");
    size_t a = TRY(c.axis(p, x->rank()));
    if (used[a]) return c.fail("bad-attribute", "perm names axis " + std::to_string(a) + " twice");
    used[a] = true;
    from.push_back(a);
    shape.push_back(x->shape[a]);
  }
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    Index at(i.size());
    for (size_t k = 0; k < i.size(); ++k) at[from[k]] = i[k];
    return (*x)(at);
  })};
}

}  // namespace

OpDef op_array_transpose() {
  return {.name = "array.transpose",
          .doc = "Output axis k is axis perm[k] of the input.",
          .attrs = {required_attr("perm", AttrKind::Ints, "the order of the axes, which count from 0")},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5 perm=[1,0]", "i64[A,B,C,D] A=2 B=3 C=1 D=4 perm=[0,2,1,3]",
                      "f16[A,B,C] A=2 B=3 C=2 perm=[2,0,1]"}};
}

}  // namespace pliant::ops
