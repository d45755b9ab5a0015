// Builders of Scalars: constants fold, and what the rules of simplify.h know is simplified.
#include <limits>

#include "expr/dim/polynomial.h"
#include "expr/scalar/fold.h"
#include "expr/scalar/simplify.h"

namespace pliant::expr {
namespace {

bool is_const(Scalar s) { return s->kind == ScalarKind::Const; }

Scalar make_node(Scalar like, ScalarKind kind, DType t, uint8_t op, std::vector<Scalar> args) {
  ScalarNode n{like->ctx, 0, kind, t, op};
  n.args = std::move(args);
  return Interner::scalar(std::move(n));
}

// Every value of `from` is a value of `to`.
bool represents_all(DType to, DType from) {
  if (to == from || from == DType::Bool) return true;
  if (to == DType::Bool) return false;
  if (is_float(from)) {
    if (from == DType::F32) return to == DType::F64;
    return (from == DType::F16 || from == DType::BF16) && (to == DType::F32 || to == DType::F64);
  }
  if (is_float(to)) {
    const int64_t mantissa_bytes = to == DType::F64 ? 4 : to == DType::F32 ? 2 : 1;
    return byte_size(from) <= mantissa_bytes;
  }
  if (is_signed_int(from) && is_unsigned_int(to)) return false;
  if (is_signed_int(from) == is_signed_int(to)) return byte_size(to) >= byte_size(from);
  return byte_size(to) > byte_size(from);
}

bool is_rounding(UnaryOp op) {
  return op == UnaryOp::Floor || op == UnaryOp::Ceil || op == UnaryOp::Round || op == UnaryOp::Trunc;
}

}  // namespace

Scalar make_const(Context& ctx, DType t, double v) { return make_const_bits(ctx, t, bits_of(t, v)); }
Scalar make_const_int(Context& ctx, DType t, int64_t v) { return make_const_bits(ctx, t, bits_of_int(t, v)); }
Scalar make_const_bits(Context& ctx, DType t, uint64_t bits) {
  ScalarNode n{&ctx, 0, ScalarKind::Const, t};
  n.bits = bits;
  return Interner::scalar(std::move(n));
}

Scalar make_index(Dim d) {
  Context& ctx = *d->ctx;
  if (d.is_const()) return make_const_int(ctx, DType::I64, d.const_value());
  const Atom* atom = as_atom(d);
  if (atom && atom->kind == AtomKind::Value) return make_cast(DType::I64, Scalar(atom->scalar));
  ScalarNode n{&ctx, 0, ScalarKind::Index, DType::I64};
  n.index = {d};
  return Interner::scalar(std::move(n));
}

Dim value(Scalar s) {
  PLIANT_CHECK(!is_float(s.dtype())) << "value of " << s.str();
  if (s->kind == ScalarKind::Index) return s->index[0];
  if (s.dtype() == DType::U64) return value(make_cast(DType::I64, s));
  if (s->kind == ScalarKind::Cast && is_int(s.dtype()) && !is_float(s->args[0].dtype()) &&
      represents_all(s.dtype(), s->args[0].dtype())) {
    return value(s->args[0]);
  }
  if (is_const(s)) return s->ctx->constant(static_cast<int64_t>(s->bits));
  return Interner::dim_of(*s->ctx, Interner::atom(*s->ctx, AtomKind::Value, {}, s.node()));
}

Scalar make_load(Context& ctx, TensorId tensor, DType t, std::vector<Dim> index) {
  ScalarNode n{&ctx, 0, ScalarKind::Load, t};
  n.tensor = tensor;
  n.index = std::move(index);
  return Interner::scalar(std::move(n));
}

Scalar make_unary(UnaryOp op, Scalar x) {
  const bool test = op == UnaryOp::IsNan || op == UnaryOp::IsInf;
  const DType t = test ? DType::Bool : x.dtype();
  PLIANT_CHECK(op != UnaryOp::Not || t == DType::Bool) << "not of " << x.str();
  if (is_const(x)) return make_const_bits(*x->ctx, t, fold_unary(op, x.dtype(), x->bits));
  if (!is_float(x.dtype())) {
    if (test) return make_const_bits(*x->ctx, DType::Bool, 0);
    if (is_rounding(op)) return x;
    if (op == UnaryOp::Neg && x->kind == ScalarKind::Index) return make_index(-x->index[0]);
  }
  if (x->kind == ScalarKind::Unary) {
    const bool involution = op == UnaryOp::Neg || op == UnaryOp::Not || op == UnaryOp::BitNot;
    if (involution && x->unary() == op) return x->args[0];
    if (op == UnaryOp::Abs && x->unary() == UnaryOp::Neg) return make_unary(op, x->args[0]);
    if (op == UnaryOp::Abs && x->unary() == UnaryOp::Abs) return x;
    if (is_rounding(op) && is_rounding(x->unary())) return x;
  }
  return make_node(x, ScalarKind::Unary, t, static_cast<uint8_t>(op), {x});
}

Scalar make_binary(BinaryOp op, Scalar a, Scalar b) {
  PLIANT_CHECK(a.dtype() == b.dtype()) << name_of(op) << " of " << a.str() << " and " << b.str();
  const DType t = a.dtype();
  const DType result = is_comparison(op) ? DType::Bool : t;
  if (is_const(a) && is_const(b)) return make_const_bits(*a->ctx, result, fold_binary(op, t, a->bits, b->bits));
  if (std::optional<Scalar> s = simplify_binary(op, a, b)) return *s;
  return make_node(a, ScalarKind::Binary, result, static_cast<uint8_t>(op), {a, b});
}

Scalar make_select(Scalar cond, Scalar then, Scalar otherwise) {
  PLIANT_CHECK(cond.dtype() == DType::Bool) << "select on " << cond.str();
  PLIANT_CHECK(then.dtype() == otherwise.dtype()) << "select of " << then.str() << " and " << otherwise.str();
  if (is_const(cond)) return cond->bits ? then : otherwise;
  if (then == otherwise) return then;
  if (cond->kind == ScalarKind::Unary && cond->unary() == UnaryOp::Not) return make_select(cond->args[0], otherwise, then);
  if (then.dtype() == DType::Bool && is_const(then) && is_const(otherwise)) {
    return then->bits ? cond : make_unary(UnaryOp::Not, cond);
  }
  return make_node(cond, ScalarKind::Select, then.dtype(), 0, {cond, then, otherwise});
}

Scalar make_cast(DType t, Scalar x) {
  if (x.dtype() == t) return x;
  if (is_const(x)) return make_const_bits(*x->ctx, t, fold_cast(t, x.dtype(), x->bits));
  if (x->kind == ScalarKind::Cast && represents_all(x.dtype(), x->args[0].dtype())) return make_cast(t, x->args[0]);
  return make_node(x, ScalarKind::Cast, t, 0, {x});
}

Scalar make_bitcast(DType t, Scalar x) {
  PLIANT_CHECK(byte_size(t) == byte_size(x.dtype())) << "bitcast of " << x.str() << " to " << name_of(t);
  if (x.dtype() == t) return x;
  if (is_const(x)) return make_const_bits(*x->ctx, t, fold_bitcast(t, x.dtype(), x->bits));
  if (x->kind == ScalarKind::Bitcast) return make_bitcast(t, x->args[0]);
  return make_node(x, ScalarKind::Bitcast, t, 0, {x});
}

Scalar make_fma(Scalar a, Scalar b, Scalar c) {
  PLIANT_CHECK(a.dtype() == b.dtype() && a.dtype() == c.dtype())
      << "fma of " << a.str() << ", " << b.str() << ", " << c.str();
  if (is_const(a) && is_const(b) && is_const(c)) {
    return make_const_bits(*a->ctx, a.dtype(), fold_fma(a.dtype(), a->bits, b->bits, c->bits));
  }
  if (!is_float(a.dtype())) return a * b + c;
  return make_node(a, ScalarKind::Fma, a.dtype(), 0, {a, b, c});
}

Scalar make_lowest(Context& ctx, DType t) {
  if (is_float(t)) return make_const(ctx, t, -std::numeric_limits<double>::infinity());
  if (!is_signed_int(t)) return make_const_bits(ctx, t, 0);
  return make_const_int(ctx, t, INT64_MIN >> (64 - 8 * byte_size(t)));
}

Scalar make_highest(Context& ctx, DType t) {
  if (is_float(t)) return make_const(ctx, t, std::numeric_limits<double>::infinity());
  if (t == DType::Bool) return make_const_bits(ctx, DType::Bool, 1);
  if (is_signed_int(t)) return make_const_int(ctx, t, INT64_MAX >> (64 - 8 * byte_size(t)));
  return make_const_bits(ctx, t, UINT64_MAX >> (64 - 8 * byte_size(t)));
}

Scalar less(Dim a, Dim b) { return make_binary(BinaryOp::Lt, make_index(a), make_index(b)); }
Scalar less_equal(Dim a, Dim b) { return make_binary(BinaryOp::Le, make_index(a), make_index(b)); }
Scalar equal(Dim a, Dim b) { return make_binary(BinaryOp::Eq, make_index(a), make_index(b)); }
Scalar logical_and(Scalar a, Scalar b) { return make_binary(BinaryOp::And, a, b); }

}  // namespace pliant::expr
