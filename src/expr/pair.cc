#include "expr/pair.h"

namespace pliant::expr {

namespace {

Scalar bits(Scalar like, int64_t v) { return make_const_int(*like->ctx, DType::I32, v); }
Scalar low(Scalar x) { return make_cast(DType::I32, make_cast(DType::I16, x)); }
Scalar high(Scalar x) { return make_binary(BinaryOp::Shr, x, bits(x, 16)); }

// x of high(x).
std::optional<Scalar> below_high(Scalar s) {
  if (s->kind != ScalarKind::Binary || s->binary() != BinaryOp::Shr || s->dtype != DType::I32) return std::nullopt;
  return s->args[0];
}

}  // namespace

Scalar make_pair(Scalar a, Scalar b) {
  return make_binary(BinaryOp::BitOr, make_binary(BinaryOp::BitAnd, a, bits(a, 0xffff)),
                     make_binary(BinaryOp::Shl, b, bits(b, 16)));
}

Scalar pair_product(Scalar a, Scalar b) { return low(a) * low(b) + high(a) * high(b); }

std::optional<std::pair<Scalar, Scalar>> as_pair_product(Scalar s) {
  if (s->kind != ScalarKind::Binary || s->binary() != BinaryOp::Add || s->dtype != DType::I32) return std::nullopt;
  for (Scalar product : {s->args[0], s->args[1]}) {
    if (product->kind != ScalarKind::Binary || product->binary() != BinaryOp::Mul) continue;
    auto a = below_high(product->args[0]), b = below_high(product->args[1]);
    if (a && b && pair_product(*a, *b) == s) return std::pair{*a, *b};
  }
  return std::nullopt;
}

}  // namespace pliant::expr
