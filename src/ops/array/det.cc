// Determinants of small matrices, by expansion along the first row, in f64.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

constexpr int64_t kMaxSize = 4;

// The determinant of rows [row, n) and the columns that `free` lists.
Scalar minor(const std::function<Scalar(int64_t, int64_t)>& at, int64_t row, const std::vector<int64_t>& free) {
  if (free.size() == 1) return at(row, free[0]);
  Scalar sum;
  for (size_t k = 0; k < free.size(); ++k) {
    std::vector<int64_t> rest = free;
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(k));
    Scalar term = at(row, free[k]) * minor(at, row + 1, rest);
    sum = !sum ? term : k % 2 == 0 ? sum + term : sum - term;
  }
  return sum;
}

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  if (x->rank() < 2)
    return c.fail("shape-mismatch", "a determinant needs matrices but the input has rank " + std::to_string(x->rank()));
  Dim n = x->shape.back();
  TRY(c.require_equal(x->shape[x->rank() - 2], n, "rows and columns of a matrix with a determinant"));
  if (!n.is_const() || n.const_value() > kMaxSize)
    return c.fail("unsupported-shape",
                  "array.det takes matrices of up to " + std::to_string(kMaxSize) + " rows, not " + n.str());
  std::vector<int64_t> columns;
  for (int64_t k = 0; k < n.const_value(); ++k) columns.push_back(k);
  const DType work = DType::F64;
  return std::vector{c.te().map("det", std::vector<Dim>(x->shape.begin(), x->shape.end() - 2), [&](const Index& i) {
    if (columns.empty()) return expr::make_const(c.ctx(), x->dtype, 1);
    auto at = [&](int64_t r, int64_t k) {
      Index full = i;
      full.push_back(c.dim(r));
      full.push_back(c.dim(k));
      return expr::make_cast(work, (*x)(full));
    };
    return expr::make_cast(x->dtype, minor(at, 0, columns));
  })};
}

}  // namespace

OpDef op_array_det() {
  return {
      .name = "array.det",
      .doc = "The determinant of each matrix in the last two axes, which have at most 4 rows; of larger ones array.lu_det.",
      .compute = compute,
      .samples = {"f32[2,2]", "f32[B,3,3] B=4", "f64[4,4]", "f32[B,1,1] B=2"}};
}

}  // namespace pliant::ops
