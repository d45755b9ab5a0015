// Tensors joined along an axis.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  size_t rank = c.in(0)->rank(), count = c.input_count();
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), rank));
  std::vector<Dim> shape = c.in(0)->shape, ends{shape[axis]};
  for (size_t n = 1; n < count; ++n) {
    const Tensor& x = c.in(n);
    TRY(c.require_same_dtype(0, n));
    if (x->rank() != rank)
      return c.fail("shape-mismatch", "input " + std::to_string(n) + " of a concat has rank " + std::to_string(x->rank()) +
                                          " but the first has " + std::to_string(rank));
    for (size_t k = 0; k < rank; ++k)
      if (k != axis) TRY(c.require_equal(shape[k], x->shape[k], "sizes of axis " + std::to_string(k) + " in a concat"));
    ends.push_back(ends.back() + x->shape[axis]);
  }
  shape[axis] = ends.back();
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    auto part = [&](size_t n) {
      Index at = i;
      if (n > 0) at[axis] = i[axis] - ends[n - 1];
      return (*c.in(n))(at);
    };
    Scalar out = part(count - 1);
    for (size_t n = count - 1; n-- > 0;) out = expr::make_select(expr::less(i[axis], ends[n]), part(n), out);
    return out;
  })};
}

}  // namespace

OpDef op_array_concat() {
  return {.name = "array.concat",
          .doc = "The inputs one after the other along `axis`.",
          .attrs = {required_attr("axis", AttrKind::Int, "the axis along which they are joined")},
          .max_inputs = -1,
          .compute = compute,
          .samples = {"f32[M,N] f32[M,K] M=2 N=3 K=4 axis=1", "i64[M] i64[2] i64[N] M=3 N=1 axis=-1", "f32[M] M=3 axis=0",
                      "f32[B,C,N] f32[B,D,N] B=2 C=1 D=3 N=2 axis=1"}};
}

}  // namespace pliant::ops
