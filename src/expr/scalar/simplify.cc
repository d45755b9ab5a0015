// Identities of binary operations that hold bit for bit, and what indices make of them.
#include "expr/scalar/simplify.h"

#include "expr/scalar/fold.h"

namespace pliant::expr {
namespace {

bool is_const(Scalar s) { return s->kind == ScalarKind::Const; }

bool is_int_const(Scalar s, int64_t v) {
  return is_const(s) && !is_float(s.dtype()) && s->bits == bits_of_int(s.dtype(), v);
}
bool is_const_bits_of(Scalar s, double v) { return is_const(s) && s->bits == bits_of(s.dtype(), v); }

// The Dim whose value an i64 scalar is.
std::optional<Dim> as_dim(Scalar s) {
  if (s->kind == ScalarKind::Index) return s->index[0];
  if (is_const(s) && s.dtype() == DType::I64) return s->ctx->constant(static_cast<int64_t>(s->bits));
  return std::nullopt;
}

Scalar make_bool(Context& ctx, bool v) { return make_const_bits(ctx, DType::Bool, v); }

std::optional<Scalar> decide_comparison(BinaryOp op, Dim a, Dim b) {
  Context& ctx = *a->ctx;
  Tri answer = Tri::Unknown;
  switch (op) {
    case BinaryOp::Eq:
    case BinaryOp::Ne: answer = ctx.equal(a, b); break;
    case BinaryOp::Lt: answer = ctx.less(a, b); break;
    case BinaryOp::Le: answer = ctx.less_equal(a, b); break;
    case BinaryOp::Gt: answer = ctx.less(b, a); break;
    case BinaryOp::Ge: answer = ctx.less_equal(b, a); break;
    default: break;
  }
  if (answer == Tri::Unknown) return std::nullopt;
  return make_bool(ctx, (answer == Tri::Yes) != (op == BinaryOp::Ne));
}

// Arithmetic of two indices, where it cannot wrap and rounding agrees.
std::optional<Scalar> fold_index_binary(BinaryOp op, Scalar x, Scalar y) {
  if (x->kind != ScalarKind::Index && y->kind != ScalarKind::Index) return std::nullopt;
  const std::optional<Dim> a = as_dim(x);
  const std::optional<Dim> b = as_dim(y);
  if (!a || !b) return std::nullopt;
  Context& ctx = *x->ctx;
  if (is_comparison(op)) return decide_comparison(op, *a, *b);
  const auto positive = [&](Dim d) { return ctx.range(d).lo >= 1; };
  const auto nonnegative = [&](Dim d) { return ctx.proves_less_equal(ctx.constant(0), d); };
  switch (op) {
    case BinaryOp::Add: return make_index(*a + *b);
    case BinaryOp::Sub: return make_index(*a - *b);
    case BinaryOp::Mul: return make_index(*a * *b);
    case BinaryOp::Min: return make_index(min(*a, *b));
    case BinaryOp::Max: return make_index(max(*a, *b));
    case BinaryOp::Div:
      if (positive(*b) && nonnegative(*a)) return make_index(floordiv(*a, *b));
      return std::nullopt;
    case BinaryOp::Mod:
      if (positive(*b)) return make_index(mod(*a, *b));
      return std::nullopt;
    case BinaryOp::Rem:
      if (positive(*b) && nonnegative(*a)) return make_index(mod(*a, *b));
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Scalar> simplify_int(BinaryOp op, Scalar a, Scalar b) {
  Context& ctx = *a->ctx;
  const DType t = a.dtype();
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor:
      if (is_int_const(b, 0)) return a;
      if (is_int_const(a, 0)) return b;
      break;
    case BinaryOp::Sub:
      if (is_int_const(b, 0)) return a;
      if (a == b) return make_const_int(ctx, t, 0);
      break;
    case BinaryOp::Mul:
      if (is_int_const(b, 1) || is_int_const(a, 0)) return a;
      if (is_int_const(a, 1) || is_int_const(b, 0)) return b;
      break;
    case BinaryOp::Div:
      if (is_int_const(b, 1)) return a;
      break;
    case BinaryOp::BitAnd:
      if (is_int_const(b, 0)) return b;
      if (is_int_const(a, 0) || a == b) return a;
      break;
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      if (is_int_const(b, 0)) return a;
      break;
    case BinaryOp::Eq:
    case BinaryOp::Le:
    case BinaryOp::Ge:
      if (a == b) return make_bool(ctx, true);
      break;
    case BinaryOp::Ne:
    case BinaryOp::Lt:
    case BinaryOp::Gt:
      if (a == b) return make_bool(ctx, false);
      break;
    default: break;
  }
  return std::nullopt;
}

std::optional<Scalar> simplify_bool(BinaryOp op, Scalar a, Scalar b) {
  Context& ctx = *a->ctx;
  const auto is = [](Scalar s, bool v) { return is_const(s) && (s->bits != 0) == v; };
  switch (op) {
    case BinaryOp::And:
      if (is(a, true) || a == b || is(b, false)) return b;
      if (is(b, true) || is(a, false)) return a;
      break;
    case BinaryOp::Or:
      if (is(a, false) || a == b || is(b, true)) return b;
      if (is(b, false) || is(a, true)) return a;
      break;
    case BinaryOp::Xor:
    case BinaryOp::Ne:
      if (is(b, false)) return a;
      if (is(a, false)) return b;
      if (a == b) return make_bool(ctx, false);
      if (is(b, true)) return make_unary(UnaryOp::Not, a);
      if (is(a, true)) return make_unary(UnaryOp::Not, b);
      break;
    case BinaryOp::Eq:
      if (a == b) return make_bool(ctx, true);
      if (is(b, true)) return a;
      if (is(a, true)) return b;
      break;
    default: break;
  }
  return std::nullopt;
}

// Only what holds for every value, signed zeros and NaN included.
std::optional<Scalar> simplify_float(BinaryOp op, Scalar a, Scalar b) {
  switch (op) {
    case BinaryOp::Add:
      if (is_const_bits_of(b, -0.0)) return a;
      if (is_const_bits_of(a, -0.0)) return b;
      break;
    case BinaryOp::Sub:
      if (is_const_bits_of(b, 0.0)) return a;
      break;
    case BinaryOp::Mul:
      if (is_const_bits_of(b, 1.0)) return a;
      if (is_const_bits_of(a, 1.0)) return b;
      break;
    case BinaryOp::Div:
    case BinaryOp::Pow:
      if (is_const_bits_of(b, 1.0)) return a;
      break;
    default: break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Scalar> simplify_binary(BinaryOp op, Scalar a, Scalar b) {
  const DType t = a.dtype();
  if (t == DType::I64) {
    if (std::optional<Scalar> s = fold_index_binary(op, a, b)) return s;
  }
  if ((op == BinaryOp::Min || op == BinaryOp::Max) && a == b) return a;
  if (t == DType::Bool) return simplify_bool(op, a, b);
  return is_float(t) ? simplify_float(op, a, b) : simplify_int(op, a, b);
}

}  // namespace pliant::expr
