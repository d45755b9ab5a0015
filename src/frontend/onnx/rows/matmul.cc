// Matrix products.
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

Result<Values> gemm(Conversion& c) {
  Attrs attrs{{"alpha", c.float_attr("alpha", 1)},
              {"beta", c.float_attr("beta", 1)},
              {"transpose_a", c.bool_attr("transA", false)},
              {"transpose_b", c.bool_attr("transB", false)}};
  return Values{TRY(c.append("nn.gemm", std::move(attrs), c.all_inputs()))};
}

}  // namespace

Rows matmul_rows() {
  return {
      {"MatMul", 1, 2, &direct<"nn.matmul">},
      {"Gemm", 7, 2, &gemm},
  };
}

}  // namespace pliant::frontend::onnx
