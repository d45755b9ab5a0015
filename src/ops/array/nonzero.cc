// The coordinates of elements that are not zero.
#include "ops/evaluate/reference.h"

namespace pliant::ops {
namespace {

Result<std::vector<TensorType>> infer_types(DefineContext& c) {
  const te::Tensor& x = c.in(0);
  Dim n = c.fresh_dim("nonzero", expr::product(c.ctx(), x->shape));
  return std::vector{TensorType{DType::I64, {c.dim(static_cast<int64_t>(x->rank())), n}}};
}

Arrays reference(const Attrs&, const std::vector<te::ArrayView>& in) {
  const te::ArrayView& x = in[0];
  std::vector<int64_t> found;
  for (int64_t i = 0; i < count_of(x.shape); ++i)
    if (number_at(x, i) != 0) found.push_back(i);
  int64_t n = static_cast<int64_t>(found.size()), rank = static_cast<int64_t>(x.shape.size());
  te::Array out = make_array(DType::I64, {rank, n});
  for (int64_t k = 0; k < n; ++k) {
    int64_t rest = found[static_cast<size_t>(k)];
    for (int64_t d = rank - 1; d >= 0; --d) {
      int64_t size = x.shape[static_cast<size_t>(d)];
      set_i64(out, d * n + k, rest % size);
      rest /= size;
    }
  }
  return std::vector{std::move(out)};
}

}  // namespace

OpDef op_array_nonzero() {
  return {.name = "array.nonzero",
          .doc = "The coordinates of the elements that are not zero, i64 [rank, n], in row-major order.",
          .kernel = {infer_types, reference, "nonzero", nullptr},
          .samples = {"f32[M,N] M=3 N=4", "bool[M] M=6", "i64[A,B,C] A=2 B=1 C=3", "i32[]"}};
}

}  // namespace pliant::ops
