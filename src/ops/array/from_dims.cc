// Sizes as a tensor.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const std::vector<Dim>& values = c.attr().as_dims("values");
  return std::vector{c.te().map("sizes", {c.dim(static_cast<int64_t>(values.size()))}, [&](const Index& i) {
    if (values.empty()) return expr::make_const_int(c.ctx(), DType::I64, 0);
    Scalar out = expr::make_index(values.back());
    for (size_t k = values.size() - 1; k-- > 0;)
      out = expr::make_select(expr::equal(i[0], c.dim(static_cast<int64_t>(k))), expr::make_index(values[k]), out);
    return out;
  })};
}

}  // namespace

OpDef op_array_from_dims() {
  return {.name = "array.from_dims",
          .doc = "The sizes `values` as a tensor of i64.",
          .attrs = {required_attr("values", AttrKind::Dims, "the elements")},
          .min_inputs = 0,
          .max_inputs = 0,
          .compute = compute,
          .samples = {"M=3 N=4 values=[M,N*2,7]", "M=2 values=[M]", "values=[]"}};
}

}  // namespace pliant::ops
