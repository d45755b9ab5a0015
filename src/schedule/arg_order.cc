#include "schedule/arg_order.h"

namespace pliant::schedule {

namespace {

using expr::BinaryOp;
using expr::Scalar;
using expr::UnaryOp;

Scalar logical_or(Scalar a, Scalar b) { return expr::make_binary(BinaryOp::Or, a, b); }
Scalar logical_not(Scalar a) { return expr::make_unary(UnaryOp::Not, a); }
Scalar is_nan(Scalar a) { return expr::make_unary(UnaryOp::IsNan, a); }

}  // namespace

Scalar takes_place(ArgOrder o, Scalar value, Scalar old) {
  BinaryOp op = o.is_max ? (o.last ? BinaryOp::Ge : BinaryOp::Gt) : (o.last ? BinaryOp::Le : BinaryOp::Lt);
  Scalar better = expr::make_binary(op, value, old);
  if (!is_float(value->dtype)) return better;
  return logical_or(better, o.last ? is_nan(value) : expr::logical_and(is_nan(value), logical_not(is_nan(old))));
}

Scalar takes_place_at(ArgOrder o, Scalar value, Scalar old, Scalar at, Scalar old_at) {
  Scalar better = expr::make_binary(o.is_max ? BinaryOp::Gt : BinaryOp::Lt, value, old);
  Scalar same = expr::make_binary(BinaryOp::Eq, value, old);
  if (is_float(value->dtype)) {
    better = logical_or(better, expr::logical_and(is_nan(value), logical_not(is_nan(old))));
    same = logical_or(same, expr::logical_and(is_nan(value), is_nan(old)));
  }
  return logical_or(better, expr::logical_and(same, expr::make_binary(o.last ? BinaryOp::Gt : BinaryOp::Lt, at, old_at)));
}

}  // namespace pliant::schedule
