// A tensor repeated along its axes.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  const std::vector<Dim>& repeats = c.attr().as_dims("repeats");
  if (repeats.size() != x->rank())
    return c.fail("bad-attribute", std::to_string(repeats.size()) + " repeats do not fit rank " + std::to_string(x->rank()));
  std::vector<Dim> shape(x->rank());
  for (size_t k = 0; k < shape.size(); ++k) {
    TRY(c.require_less_equal(c.dim(0), repeats[k], "a count of repeats"));
    shape[k] = x->shape[k] * repeats[k];
  }
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    Index at(i.size());
    for (size_t k = 0; k < i.size(); ++k) {
      bool once = repeats[k].is_const(1);
      at[k] = once ? i[k] : x->shape[k].is_const(1) ? c.dim(0) : expr::mod(i[k], x->shape[k]);
    }
    return (*x)(at);
  })};
}

}  // namespace

OpDef op_array_tile() {
  return {.name = "array.tile",
          .doc = "The input repeated along each axis.",
          .attrs = {required_attr("repeats", AttrKind::Dims, "one count an axis")},
          .compute = compute,
          .samples = {"f32[M,N] M=2 N=3 repeats=[2,3]", "i64[M] K=3 M=2 repeats=[K]", "f32[1,M] M=4 repeats=[5,1]"}};
}

}  // namespace pliant::ops
