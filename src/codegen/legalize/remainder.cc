// Remainders of floats, and division of narrow integers, which machines have no vector instruction for.
#include "codegen/legalize/build.h"
#include "codegen/legalize/legalize.h"

namespace pliant::codegen::rules {

namespace {

// The quotient of integers of up to 32 bits is exact in a float of twice their size: it cannot round up to the next integer.
Scalar narrow_quotient(Scalar a, Scalar b) {
  const DType t = a.dtype();
  const DType wide = byte_size(t) <= 2 ? DType::F32 : DType::F64;
  expr::Context& ctx = *a->ctx;
  const Scalar zero = expr::make_const_int(ctx, t, 0);
  const Scalar q = expr::make_cast(t, expr::make_cast(wide, a) / expr::make_cast(wide, b));
  const Scalar by_zero = expr::make_binary(BinaryOp::Eq, b, zero);
  if (!is_signed_int(t)) return expr::make_select(by_zero, zero, q);
  // The cast would saturate where the lowest value divided by -1 wraps.
  const Scalar by_minus_one = expr::make_binary(BinaryOp::Eq, b, expr::make_const_int(ctx, t, -1));
  return expr::make_select(by_zero, zero, expr::make_select(by_minus_one, -a, q));
}

// The quotient rounds to its integer or to the next one, so one fused step leaves an exact rest that is at most one y too
// small. For what is not below 2^(mantissa bits - 1) times y, and not finite, f32 goes through f64, and f64 is a call: of a
// negated x, which this rule leaves alone.
Scalar float_remainder(Scalar x, Scalar y) {
  const Build b{*x->ctx, x.dtype()};
  const bool single = b.t == DType::F32;
  const Scalar ax = b.abs(x), ay = b.abs(y);
  const Scalar usual = b.bin(BinaryOp::And, b.lt(ax, ay * b.c(single ? 0x1p22 : 0x1p51)), b.lt(ay, b.infinity()));
  const Scalar over = b.fma(-b.un(UnaryOp::Trunc, ax / ay), ay, ax);
  const Scalar rest = b.select(b.lt(over, b.c(0)), over + ay, over);
  auto wide = [](Scalar v) { return expr::make_cast(DType::F64, v); };
  const Scalar rare =
      single ? expr::make_cast(DType::F32, b.bin(BinaryOp::Rem, wide(x), wide(y))) : -b.bin(BinaryOp::Rem, -x, y);
  return b.select(usual, b.with_sign_of(rest, x), rare);
}

}  // namespace

Scalar rewrite_remainder(Scalar s) {
  if (s->kind != ScalarKind::Binary) return {};
  const DType t = s.dtype();
  const Scalar x = s->args[0], y = s->args[1];
  expr::Context& ctx = *s->ctx;
  if (s->binary() == BinaryOp::Mod && (t == DType::F32 || t == DType::F64)) {
    const Build b{ctx, t};
    const Scalar r = b.bin(BinaryOp::Rem, x, y);
    const Scalar signed_zero = b.select(b.lt(y, b.c(0)), b.c(-0.0), b.c(0));
    const Scalar differs = b.bin(BinaryOp::Xor, b.lt(r, b.c(0)), b.lt(y, b.c(0)));
    return b.select(b.eq(r, b.c(0)), signed_zero, b.select(differs, r + y, r));
  }
  if (s->binary() == BinaryOp::Rem && (t == DType::F32 || (t == DType::F64 && !is_unary(x, UnaryOp::Neg))))
    return float_remainder(x, y);
  if (!is_int(t) || byte_size(t) > 4 || y->kind == ScalarKind::Const) return {};
  const Scalar zero = expr::make_const_int(ctx, t, 0);
  switch (s->binary()) {
    case BinaryOp::Div: return narrow_quotient(x, y);
    case BinaryOp::Rem:
      return expr::make_select(expr::make_binary(BinaryOp::Eq, y, zero), zero, x - narrow_quotient(x, y) * y);
    case BinaryOp::Mod: {
      const Scalar r = expr::make_binary(BinaryOp::Rem, x, y);
      if (!is_signed_int(t)) return r;
      const Scalar opposite = expr::make_binary(BinaryOp::Lt, expr::make_binary(BinaryOp::BitXor, r, y), zero);
      const Scalar differs = expr::make_binary(BinaryOp::And, expr::make_binary(BinaryOp::Ne, r, zero), opposite);
      return expr::make_select(differs, r + y, r);
    }
    default: return {};
  }
}

}  // namespace pliant::codegen::rules
