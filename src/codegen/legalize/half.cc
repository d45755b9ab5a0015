// f16 and bf16: each operation is computed in f32 and rounded.
//
//   add(a, b) : f16  →  cast<f16>(add(cast<f32>(a), cast<f32>(b)))
#include "codegen/legalize/legalize.h"
#include "expr/scalar/with_args.h"

namespace pliant::codegen::rules {

using expr::BinaryOp;
using expr::make_cast;
using expr::Scalar;
using expr::ScalarKind;
using expr::UnaryOp;

namespace {

bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }
Scalar wide(Scalar s) { return make_cast(DType::F32, s); }

}  // namespace

Scalar rewrite_half(Scalar s) {
  if (s->args.empty() || !is_half(s->args[s->kind == ScalarKind::Select ? 1 : 0].dtype())) return {};
  if (s->kind != ScalarKind::Unary && s->kind != ScalarKind::Binary && s->kind != ScalarKind::Fma) return {};
  std::vector<Scalar> args;
  for (Scalar a : s->args) args.push_back(wide(a));
  const Scalar x = expr::with_args(s, args);
  return s.dtype() == DType::Bool ? x : make_cast(s.dtype(), x);
}

Scalar rewrite_cast(Scalar s) {
  if (s->kind != ScalarKind::Cast || !is_half(s.dtype())) return {};
  // Halves, f32 and integers of up to 16 bits go through f32 in one rounding: the emitters do that.
  const DType from = s->args[0].dtype();
  if (is_half(from) || from == DType::F32 || byte_size(from) <= 2) return {};
  // Wide integers are rounded to f64 first, where they have more than 53 bits.
  const Scalar x = make_cast(DType::F64, s->args[0]);
  // Through an f32 rounded to odd, which rounds to the half as the f64 itself would: an inexact f32 gets its last bit set.
  const Scalar nearest = make_cast(DType::F32, x);
  const Scalar back = make_cast(DType::F64, nearest);
  const Scalar bits = expr::make_bitcast(DType::U32, nearest);
  auto number = [&](int64_t n) { return expr::make_const_int(*s->ctx, DType::U32, n); };
  // Away from zero by magnitude: the step down keeps the sign.
  const Scalar away =
      expr::make_binary(BinaryOp::Gt, expr::make_unary(UnaryOp::Abs, back), expr::make_unary(UnaryOp::Abs, x));
  const Scalar is_odd = expr::make_binary(BinaryOp::Eq, expr::make_binary(BinaryOp::BitAnd, bits, number(1)), number(1));
  const Scalar stepped = expr::make_select(away, bits - number(1), bits + number(1));
  const Scalar exact =
      expr::make_binary(BinaryOp::Or, expr::make_binary(BinaryOp::Eq, back, x), expr::make_unary(UnaryOp::IsNan, x));
  const Scalar keep = expr::make_binary(BinaryOp::Or, exact, is_odd);
  return make_cast(s.dtype(), expr::make_bitcast(DType::F32, expr::make_select(keep, bits, stepped)));
}

}  // namespace pliant::codegen::rules
