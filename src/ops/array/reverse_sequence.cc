// The beginnings of sequences reversed.
#include "ops/bodies/elementwise.h"
#include "ops/bodies/indices.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &lengths = c.in(1);
  size_t batch = TRY(c.axis(c.attr().as_int("batch_axis"), x->rank())),
         time = TRY(c.axis(c.attr().as_int("time_axis"), x->rank()));
  if (batch == time) return c.fail("bad-attribute", "batch and time are the same axis");
  TRY(require_domain(c, 1, kInts));
  if (lengths->rank() != 1) return c.fail("shape-mismatch", "the lengths must have rank 1");
  TRY(c.require_equal(lengths->shape[0], x->shape[batch], "the lengths and the batch"));
  auto length = [&](Dim at) { return expr::value(expr::make_cast(DType::I64, (*lengths)({at}))); };
  std::vector<Dim> values;
  Tensor good = c.te().map("fits", {lengths->shape[0]}, [&](const Index& i) {
    values = {length(i[0]), x->shape[time]};
    return expr::logical_and(expr::less_equal(c.dim(0), values[0]), expr::less_equal(values[0], values[1]));
  });
  c.add_check({good, "length {0} is not between 0 and {1}", values});
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Index at = i;
    Dim n = length(i[batch]), t = i[time];
    Scalar from = expr::make_select(expr::less(t, n), expr::make_index(n - 1 - t), expr::make_index(t));
    at[time] = bounded_index(expr::value(from), x->shape[time]);
    return (*x)(at);
  })};
}

}  // namespace

OpDef op_array_reverse_sequence() {
  return {.name = "array.reverse_sequence",
          .doc = "The first lengths[b] steps of each batch in reverse order, the rest as it is.",
          .attrs = {attr("batch_axis", 1), attr("time_axis", 0)},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[T,B,D] i64[B]@0..5 T=4 B=3 D=2", "i32[B,T] i32[B]@0..4 T=3 B=2 batch_axis=0 time_axis=1"}};
}

}  // namespace pliant::ops
