// Elimination with row pivots, in f64. The product of the pivots is kept as a fraction and an exponent, so that it overflows
// only where the determinant does.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/library/library.h"

namespace pliant::runtime {
namespace {

class Product {
 public:
  void times(double v) {
    int of_factor = 0, of_product = 0;
    fraction_ = std::frexp(fraction_ * std::frexp(v, &of_factor), &of_product);
    exponent_ += of_factor + of_product;
  }
  double value() const { return std::ldexp(fraction_, static_cast<int>(std::clamp<int64_t>(exponent_, -100000, 100000))); }

 private:
  double fraction_ = 1;
  int64_t exponent_ = 0;
};

// Destroys `a`, the n rows of a matrix.
pliant_status eliminate(TurnCounter& turns, double* a, int64_t n, double& det) {
  Product product;
  for (int64_t k = 0; k < n; ++k) {
    double* top = a + k * n;
    int64_t pivot = k;
    for (int64_t r = k + 1; r < n; ++r)
      if (std::fabs(a[r * n + k]) > std::fabs(a[pivot * n + k]) || std::isnan(a[r * n + k])) pivot = r;
    if (pivot != k) {
      std::swap_ranges(top + k, top + n, a + pivot * n + k);
      product.times(-1);
    }
    product.times(top[k]);
    if (top[k] == 0) break;
    for (int64_t r = k + 1; r < n; ++r) {
      double* row = a + r * n;
      const double factor = row[k] / top[k];
      if (factor != 0)
        for (int64_t c = k + 1; c < n; ++c) row[c] -= factor * top[c];
      if (turns.is_over(n - k)) return cancelled();
    }
  }
  det = product.value();
  return PLIANT_OK;
}

template <class T>
pliant_status determinants(LibraryCall& call, int64_t n, int64_t count) {
  const uint64_t elements = static_cast<uint64_t>(n) * static_cast<uint64_t>(n);
  auto* a = call.room<double>(std::max<uint64_t>(elements, 1));
  if (a == nullptr) return PLIANT_OUT_OF_MEMORY;
  TurnCounter turns(call.stop);
  const std::byte* from = call.inputs[0].data;
  std::byte* to = call.outputs[0].data;
  for (int64_t m = 0; m < count; ++m) {
    if (turns.is_over(1)) return cancelled();
    for (int64_t row = 0; row < n; ++row) {
      if (turns.is_over(n)) return cancelled();
      for (int64_t i = row * n; i < (row + 1) * n; ++i, from += sizeof(T)) {
        T v;
        std::memcpy(&v, from, sizeof v);
        a[i] = static_cast<double>(v);
      }
    }
    double det = 1;
    PLIANT_TRY(eliminate(turns, a, n, det));
    const T value = static_cast<T>(det);
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  }
  return PLIANT_OK;
}

}  // namespace

pliant_status library_determinant(LibraryCall& call) {
  const LibraryInput& x = call.inputs[0];
  const size_t rank = x.shape.size();
  if (rank < 2 || x.shape[rank - 1] != x.shape[rank - 2]) return call.fault("the matrices are not square");
  int64_t count = 1;  // of an empty batch 0, however large its other axes are
  for (size_t d = 0; d + 2 < rank; ++d) count = x.shape[d] == 0 ? 0 : count;
  for (size_t d = 0; d + 2 < rank && count > 0; ++d)
    if (__builtin_mul_overflow(count, x.shape[d], &count)) return call.fault("there are too many matrices");
  PLIANT_TRY(call.require_output(0, x.dtype, static_cast<uint64_t>(count)));
  const int64_t n = x.shape[rank - 1];
  if (x.dtype == DType::F64) return determinants<double>(call, n, count);
  if (x.dtype != DType::F32) return call.fault("determinants of %s are not computed", name_of(x.dtype));
  return determinants<float>(call, n, count);
}

}  // namespace pliant::runtime
