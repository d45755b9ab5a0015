#include "expr/scalar/packed.h"

namespace pliant::expr {

namespace {

Scalar number(Scalar like, int64_t v) { return make_const_int(*like->ctx, DType::I32, v); }
bool is_binary(Scalar s, BinaryOp op) { return s->kind == ScalarKind::Binary && s->binary() == op; }

}  // namespace

Scalar pack2(Scalar a, Scalar b) {
  return make_binary(BinaryOp::BitOr, make_binary(BinaryOp::BitAnd, a, number(a, 0xffff)),
                     make_binary(BinaryOp::Shl, b, number(b, 16)));
}

Scalar pack4(const std::array<Scalar, 4>& bytes) {
  Scalar out = make_cast(DType::I32, bytes[0]);
  for (int n = 1; n < 4; ++n)
    out = make_binary(BinaryOp::BitOr, out,
                      make_binary(BinaryOp::Shl, make_cast(DType::I32, bytes[static_cast<size_t>(n)]), number(out, 8 * n)));
  return out;
}

Scalar part_of(Scalar word, DType t, int64_t k) {
  const int64_t bits = 8 * byte_size(t);
  PLIANT_CHECK(word.dtype() == DType::I32 && is_int(t) && bits < 32) << "a part of " << name_of(t) << " in " << word.str();
  const Scalar low = k == 0 ? word : make_binary(BinaryOp::Shr, word, number(word, bits * k));
  if (is_signed_int(t)) return make_cast(DType::I32, make_cast(t, low));
  return make_binary(BinaryOp::BitAnd, low, number(word, (int64_t{1} << bits) - 1));
}

std::optional<Scalar> as_loaded_word(Scalar s) {
  if (!is_binary(s, BinaryOp::BitOr) || s->dtype != DType::I32) return std::nullopt;
  Scalar first = s;
  while (is_binary(first, BinaryOp::BitOr)) first = first->args[0];
  if (first->kind != ScalarKind::Cast || first->dtype != DType::I32) return std::nullopt;
  first = first->args[0];
  if (first->kind != ScalarKind::Load || first->dtype != DType::U8 || first->index.size() != 1) return std::nullopt;
  std::array<Scalar, 4> bytes{first};
  for (int n = 1; n < 4; ++n)
    bytes[static_cast<size_t>(n)] = make_load(*s->ctx, first->tensor, DType::U8, {first->index[0] + n});
  return pack4(bytes) == s ? std::optional(first) : std::nullopt;
}

}  // namespace pliant::expr
