// Ones on a diagonal.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  DType to = c.attr().as_dtype("to");
  int64_t k = c.attr().as_int("k");
  return std::vector{c.te().map("y", {c.attr().as_dim("rows"), c.attr().as_dim("cols")},
                                [&](const Index& i) { return expr::make_cast(to, expr::equal(i[0] + k, i[1])); })};
}

}  // namespace

OpDef op_array_eye() {
  return {.name = "array.eye",
          .doc = "A matrix with ones on diagonal `k` (above the main one when positive) and zeros elsewhere.",
          .attrs = {required_attr("rows", AttrKind::Dim), required_attr("cols", AttrKind::Dim), attr("k", 0, "the diagonal"),
                    required_attr("to", AttrKind::DType, "the element type")},
          .min_inputs = 0,
          .max_inputs = 0,
          .compute = compute,
          .samples = {"M=3 N=4 rows=M cols=N to=f32", "M=4 rows=M cols=M k=-1 to=i64", "rows=2 cols=3 k=1 to=bool"}};
}

}  // namespace pliant::ops
