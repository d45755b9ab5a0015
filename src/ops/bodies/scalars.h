// Shorthands for the scalar expressions in definitions of operators.
#pragma once
#include "ops/op.h"

namespace pliant::ops {

using expr::BinaryOp;
using expr::Scalar;
using expr::UnaryOp;
using te::Index;
using te::Tensor;
using Tensors = Result<std::vector<Tensor>>;

// A constant of x's type.
inline Scalar constant_like(Scalar x, double v) { return expr::make_const(*x->ctx, x.dtype(), v); }
inline Scalar operator+(Scalar a, double b) { return a + constant_like(a, b); }
inline Scalar operator-(Scalar a, double b) { return a - constant_like(a, b); }
inline Scalar operator*(Scalar a, double b) { return a * constant_like(a, b); }
inline Scalar operator/(Scalar a, double b) { return a / constant_like(a, b); }
inline Scalar operator-(double a, Scalar b) { return constant_like(b, a) - b; }
inline Scalar operator/(double a, Scalar b) { return constant_like(b, a) / b; }
inline Scalar greater(Scalar a, Scalar b) { return make_binary(BinaryOp::Gt, a, b); }
inline Scalar greater_equal(Scalar a, Scalar b) { return make_binary(BinaryOp::Ge, a, b); }
inline Scalar less_than(Scalar a, Scalar b) { return make_binary(BinaryOp::Lt, a, b); }
inline Scalar same_value(Scalar a, Scalar b) { return make_binary(BinaryOp::Eq, a, b); }
inline Scalar logical_or(Scalar a, Scalar b) { return make_binary(BinaryOp::Or, a, b); }
inline Scalar maximum(Scalar a, Scalar b) { return make_binary(BinaryOp::Max, a, b); }
inline Scalar minimum(Scalar a, Scalar b) { return make_binary(BinaryOp::Min, a, b); }
inline Scalar unary(UnaryOp op, Scalar x) { return make_unary(op, x); }
// The value of a size or an index in arithmetic of type `t`.
inline Scalar number(DType t, Dim d) { return expr::make_cast(t, expr::make_index(d)); }
// The type that arithmetic on `t` is done in: f32 for halves, t otherwise.
inline DType wide(DType t) { return t == DType::F16 || t == DType::BF16 ? DType::F32 : t; }
// The type for roots and logarithms of `t`: f64 for integers.
inline DType real(DType t) { return is_float(t) ? wide(t) : DType::F64; }
// 1 where a == b, else 0.
inline Dim equals(Dim a, int64_t b, expr::Context& ctx) { return expr::max(1 - expr::max(a - b, b - a), ctx.constant(0)); }
// 1 where `axis`, which may count from the end, is axis k of `rank`, else 0.
inline Dim is_axis(Dim axis, int64_t k, int64_t rank, expr::Context& ctx) {
  return equals(axis, k, ctx) + equals(axis, k - rank, ctx);
}
// An index into an axis of `size` from data: negative values count from the end. In range only when a data check says so.
inline Dim wrapped_index(Scalar v, Dim size) {
  Scalar i = expr::make_cast(DType::I64, v);
  return expr::value(expr::make_select(less_than(i, constant_like(i, 0)), i + expr::make_index(size), i));
}

}  // namespace pliant::ops
