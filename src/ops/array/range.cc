// An arithmetic progression.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(c.require_same_dtype(0, 1));
  TRY(require_domain(c, 0, kNumbers));
  if (c.in(0)->rank() != 0 || c.in(1)->rank() != 0)
    return c.fail("shape-mismatch", "start and step of a range must have rank 0");
  DType t = c.in(0)->dtype;
  return std::vector{c.te().map("y", {c.attr().as_dim("size")}, [&](const Index& i) {
    Scalar start = expr::make_cast(wide(t), (*c.in(0))({})), step = expr::make_cast(wide(t), (*c.in(1))({}));
    return expr::make_cast(t, start + number(wide(t), i[0]) * step);
  })};
}

}  // namespace

OpDef op_array_range() {
  return {.name = "array.range",
          .doc = "start + i * step for i below `size`.",
          .attrs = {required_attr("size", AttrKind::Dim, "the number of elements")},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"i64[] i64[] N=5 size=N", "f32[] f32[] N=7 size=N", "f16[] f16[] size=4"}};
}

}  // namespace pliant::ops
