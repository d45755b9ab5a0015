// Terms of Fourier sums.
#pragma once
#include "ops/elementwise.h"

namespace pliant::ops {

// One part of (re + i im) * exp(∓ 2 pi i k n / length): the real one where `is_real` holds, else the imaginary one;
// `complex` says that im may be non-zero. The angle is taken from k * n mod length, so that it stays exact.
inline Scalar rotated_part(Scalar re, Scalar im, Dim k, Dim n, Dim length, bool inverse, Scalar is_real, bool complex) {
  expr::Context& ctx = *k->ctx;
  DType t = re.dtype();
  Dim period = expr::max(length, ctx.constant(1));
  Scalar turn = number(DType::F64, expr::mod(k * n, period)) / number(DType::F64, period) * 6.283185307179586;
  Scalar cosine = expr::make_cast(t, unary(UnaryOp::Cos, turn)), sine = expr::make_cast(t, unary(UnaryOp::Sin, turn));
  if (!inverse) sine = -sine;
  Scalar real_part = re * cosine, imaginary_part = re * sine;
  if (complex) {
    real_part = real_part - im * sine;
    imaginary_part = imaginary_part + im * cosine;
  }
  return expr::make_select(is_real, real_part, imaginary_part);
}

}  // namespace pliant::ops
