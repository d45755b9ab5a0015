// Lengths of sequences, checked.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  TRY(require_domain(c, 0, kInts));
  Dim limit = c.attr().as_dim("limit");
  auto length = [&](const Index& i) { return expr::make_cast(DType::I64, (*x)(i)); };
  std::vector<Dim> values;
  Tensor good = c.te().map("fits", x->shape, [&](const Index& i) {
    values = {expr::value(length(i)), limit};
    return expr::logical_and(expr::less_equal(c.dim(0), values[0]), expr::less_equal(values[0], values[1]));
  });
  c.add_check({good, "length {0} is not between 0 and {1}", values});
  return std::vector{c.te().map("y", x->shape, length)};
}

}  // namespace

OpDef op_array_check_lengths() {
  return {.name = "array.check_lengths",
          .doc = "The integers as i64, each of which must lie between 0 and `limit`.",
          .attrs = {required_attr("limit", AttrKind::Dim, "the longest length")},
          .compute = compute,
          .samples = {"i32[B]@0..4 B=3 limit=4"}};
}

}  // namespace pliant::ops
