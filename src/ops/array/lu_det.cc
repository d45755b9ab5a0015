// Determinants of matrices of any size, by elimination.
#include <cmath>
#include <cstring>

#include "ops/bodies/elementwise.h"
#include "ops/evaluate/reference.h"

namespace pliant::ops {
namespace {

Result<std::vector<TensorType>> infer_types(DefineContext& c) {
  const Tensor& x = c.in(0);
  if (x->dtype != DType::F32 && x->dtype != DType::F64)
    return c.fail("type-mismatch", std::string("determinants of ") + name_of(x->dtype) + " are not computed");
  if (x->rank() < 2)
    return c.fail("shape-mismatch", "a determinant needs matrices but the input has rank " + std::to_string(x->rank()));
  TRY(c.require_equal(x->shape[x->rank() - 2], x->shape.back(), "rows and columns of a matrix with a determinant"));
  return std::vector{TensorType{x->dtype, std::vector<Dim>(x->shape.begin(), x->shape.end() - 2)}};
}

long double determinant(std::vector<long double> a, size_t n) {
  long double det = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t r = k + 1; r < n; ++r)
      if (std::fabs(a[r * n + k]) > std::fabs(a[pivot * n + k])) pivot = r;
    if (pivot != k) det = -det;
    for (size_t c = 0; c < n; ++c) std::swap(a[k * n + c], a[pivot * n + c]);
    det *= a[k * n + k];
    if (a[k * n + k] == 0) return det;
    for (size_t r = k + 1; r < n; ++r) {
      const long double factor = a[r * n + k] / a[k * n + k];
      for (size_t c = k + 1; c < n; ++c) a[r * n + c] -= factor * a[k * n + c];
    }
  }
  return det;
}

Arrays reference(const Attrs&, const std::vector<te::ArrayView>& in) {
  const te::ArrayView& x = in[0];
  const auto n = static_cast<size_t>(x.shape.back());
  te::Array y = make_array(x.dtype, std::vector<int64_t>(x.shape.begin(), x.shape.end() - 2));
  const int64_t count = count_of(y.shape);
  for (int64_t m = 0; m < count; ++m) {
    std::vector<long double> a(n * n);
    for (size_t i = 0; i < a.size(); ++i) a[i] = number_at(x, m * static_cast<int64_t>(a.size()) + static_cast<int64_t>(i));
    const long double det = determinant(std::move(a), n);
    std::byte* to = y.data.data() + m * byte_size(x.dtype);
    const auto wide_value = static_cast<double>(det);
    const auto value = static_cast<float>(det);
    if (x.dtype == DType::F64)
      std::memcpy(to, &wide_value, sizeof wide_value);
    else
      std::memcpy(to, &value, sizeof value);
  }
  return std::vector{std::move(y)};
}

}  // namespace

OpDef op_array_lu_det() {
  return {.name = "array.lu_det",
          .doc = "The determinant of each matrix in the last two axes, by elimination with row pivots in f64.",
          .kernel = {infer_types, reference, "determinant", nullptr},
          .samples = {"f32[6,6]", "f32[B,M,M] B=4 M=7", "f64[A,B,M,M] A=2 B=1 M=3"}};
}

}  // namespace pliant::ops
