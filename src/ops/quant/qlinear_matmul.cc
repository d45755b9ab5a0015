// A matrix product of quantised tensors, quantised again.
#include "ops/bodies/contraction.h"
#include "ops/bodies/quantise.h"

namespace pliant::ops {
namespace {

// Inputs: a 0, a_scale 1, a_zero 2, b 3, b_scale 4, b_zero 5, y_scale 6, y_zero 7. A parameter has one element, or one a row
// of a (a column of b, a row or column of y is not defined).
struct Param {
  Tensor t;
  size_t axis = 0;  // of the matrix
  bool single = true;
  Scalar at(const Index& i, DefineContext& c) const {
    if (single) return (*t)(Index(t->rank(), c.dim(0)));
    if (t->rank() == 1) return (*t)({i[axis]});
    Index full = i;
    for (size_t k = 0; k < t->rank(); ++k)
      if (t->shape[k].is_const(1)) full[k] = c.dim(0);
    return (*t)(full);
  }
};

Result<Param> param(DefineContext& c, size_t k, const Tensor& of, bool of_rows) {
  Param p{c.in(k), 0, true};
  const Tensor& t = p.t;
  if (t->rank() == 0 || (t->rank() == 1 && t->shape[0].is_const(1))) return p;
  if (of->rank() < 2 || (t->rank() != 1 && t->rank() != of->rank()))
    return c.fail("shape-mismatch", "input " + std::to_string(k) + " does not fit its matrix");
  p.single = false;
  p.axis = of_rows ? of->rank() - 2 : of->rank() - 1;
  if (t->rank() == 1) TRY(c.require_equal(t->shape[0], of->shape[p.axis], "the parameters of a matrix and the matrix"));
  return p;
}

Tensors compute(DefineContext& c) {
  const Tensor &a = c.in(0), &b = c.in(3);
  TRY(require_domain(c, 0, kInts));
  TRY(require_domain(c, 3, kInts));
  Param a_scale = TRY(param(c, 1, a, true)), a_zero = TRY(param(c, 2, a, true));
  Param b_scale = TRY(param(c, 4, b, false)), b_zero = TRY(param(c, 5, b, false));
  TRY(require_single(c, 6));
  TRY(require_single(c, 7));
  auto element = [&](const Tensor& t, const Param& zero, const Index& i) {
    return expr::make_cast(DType::I32, (*t)(i)) - expr::make_cast(DType::I32, zero.at(i, c));
  };
  Tensor sum = TRY(matmul_sum(
      c, a, b, {}, [&](const Index& i) { return element(a, a_zero, i); },
      [&](const Index& i) { return element(b, b_zero, i); }));
  DType to = c.in(7)->dtype;
  return std::vector{c.te().map("y", sum->shape, [&](const Index& i) {
    // Rows and columns of the result stand where those of a and b do, counted from the end.
    auto index_for = [&](const Tensor& t) {
      Index at(t->rank(), c.dim(0));
      if (t->rank() >= 2 && i.size() >= 2) {
        at[t->rank() - 2] = i[i.size() - 2];
        at[t->rank() - 1] = i[i.size() - 1];
      }
      return at;
    };
    auto f32 = [](Scalar v) { return expr::make_cast(DType::F32, v); };
    Scalar scale = f32(a_scale.at(index_for(a), c)) * f32(b_scale.at(index_for(b), c)) / f32(single(c, 6));
    return saturate_to(to, f32((*sum)(i)) * scale, single_zero(c, 7));
  })};
}

}  // namespace

OpDef op_quant_qlinear_matmul() {
  return {.name = "quant.qlinear_matmul",
          .doc = "The matrix product of two quantised tensors, quantised with the scale and zero point of y.",
          .min_inputs = 8,
          .max_inputs = 8,
          .compute = compute,
          .samples = {"u8[M,K] f32[]@1..2 u8[] u8[K,N] f32[]@1..2 u8[] f32[]@1..2 u8[] M=2 K=3 N=4",
                      "i8[B,M,K] f32[]@1..2 i8[] i8[K,N] f32[N]@1..2 i8[N] f32[]@1..2 i8[] B=2 M=2 K=3 N=2"}};
}

}  // namespace pliant::ops
