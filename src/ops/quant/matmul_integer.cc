// Matrix products of small integers less their zero points, in i32.
#include "ops/bodies/contraction.h"

namespace pliant::ops {
namespace {

// The zero point of input `k` at an index of its matrix: one for all, or one a row of a or a column of b.
Result<std::function<Scalar(const Index&)>> zero_point(DefineContext& c, size_t k, const Tensor& of, bool of_rows) {
  if (!c.has(k)) return std::function<Scalar(const Index&)>([](const Index&) { return Scalar(); });
  const Tensor& z = c.in(k);
  if (z->dtype != of->dtype) return c.fail("type-mismatch", "a zero point and its matrix have different types");
  bool single = z->rank() == 0 || (z->rank() == 1 && z->shape[0].is_const(1));
  if (single) return std::function<Scalar(const Index&)>([&c, z](const Index&) { return (*z)(Index(z->rank(), c.dim(0))); });
  if (of->rank() < 2) return c.fail("shape-mismatch", "a vector has one zero point");
  size_t axis = of_rows ? of->rank() - 2 : of->rank() - 1;
  if (z->rank() == 1) {
    TRY(c.require_equal(z->shape[0], of->shape[axis], "the zero points and the matrix"));
    return std::function<Scalar(const Index&)>([z, axis](const Index& i) { return (*z)({i[axis]}); });
  }
  if (z->rank() != of->rank()) return c.fail("shape-mismatch", "a zero point and its matrix have different ranks");
  size_t summed = of_rows ? of->rank() - 1 : of->rank() - 2;
  for (size_t d = 0; d < z->rank(); ++d)
    TRY(c.require_equal(z->shape[d], d == summed ? c.dim(1) : of->shape[d],
                        "axis " + std::to_string(d) + " of a zero point"));
  return std::function<Scalar(const Index&)>([&c, z, summed](const Index& i) {
    Index at = i;
    at[summed] = c.dim(0);
    return (*z)(at);
  });
}

Tensors compute(DefineContext& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  TRY(require_domain(c, 0, kInts));
  TRY(require_domain(c, 1, kInts));
  auto a_zero = TRY(zero_point(c, 2, a, true)), b_zero = TRY(zero_point(c, 3, b, false));
  auto element = [](const Tensor& t, const std::function<Scalar(const Index&)>& zero, const Index& i) {
    Scalar v = expr::make_cast(DType::I32, (*t)(i)), z = zero(i);
    return z ? v - expr::make_cast(DType::I32, z) : v;
  };
  return std::vector{TRY(matmul_sum(
      c, a, b, {}, [&](const Index& i) { return element(a, a_zero, i); },
      [&](const Index& i) { return element(b, b_zero, i); }))};
}

}  // namespace

OpDef op_quant_matmul_integer() {
  return {.name = "quant.matmul_integer",
          .doc = "The matrix product of (a - a_zero) and (b - b_zero) in i32.",
          .min_inputs = 2,
          .max_inputs = 4,
          .compute = compute,
          .samples = {"u8[M,K] i8[K,N] u8[] i8[] M=2 K=3 N=4", "u8[B,M,K] u8[K,N] u8[] u8[N] B=2 M=2 K=3 N=4",
                      "i8[M,K] i8[K,N] M=3 K=5 N=1", "u8[M,K] i8[K,N] u8[M] M=2 K=3 N=2"}};
}

}  // namespace pliant::ops
