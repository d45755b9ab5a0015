#include "expr/quad.h"

namespace pliant::expr {

namespace {

Scalar number(Scalar like, int64_t v) { return make_const_int(*like->ctx, DType::I32, v); }
Scalar shifted(Scalar x, int n) { return n == 0 ? x : make_binary(BinaryOp::Shr, x, number(x, 8 * n)); }
Scalar unsigned_byte(Scalar x, int n) { return make_binary(BinaryOp::BitAnd, shifted(x, n), number(x, 255)); }
Scalar signed_byte(Scalar x, int n) { return make_cast(DType::I32, make_cast(DType::I8, shifted(x, n))); }

bool is_binary(Scalar s, BinaryOp op) { return s->kind == ScalarKind::Binary && s->binary() == op; }
bool is_cast(Scalar s, DType t) { return s->kind == ScalarKind::Cast && s->dtype == t; }

// x of unsigned_byte(x, 3), and of signed_byte(x, 3).
std::optional<Scalar> below_unsigned(Scalar s) {
  if (!is_binary(s, BinaryOp::BitAnd) || !is_binary(s->args[0], BinaryOp::Shr)) return std::nullopt;
  return s->args[0]->args[0];
}
std::optional<Scalar> below_signed(Scalar s) {
  if (!is_cast(s, DType::I32) || !is_cast(s->args[0], DType::I8)) return std::nullopt;
  Scalar shift = s->args[0]->args[0];
  if (!is_binary(shift, BinaryOp::Shr)) return std::nullopt;
  return shift->args[0];
}

}  // namespace

Scalar make_quad(const std::array<Scalar, 4>& bytes) {
  Scalar out = make_cast(DType::I32, bytes[0]);
  for (int n = 1; n < 4; ++n)
    out = make_binary(BinaryOp::BitOr, out,
                      make_binary(BinaryOp::Shl, make_cast(DType::I32, bytes[static_cast<size_t>(n)]), number(out, 8 * n)));
  return out;
}

Scalar quad_product(Scalar a, Scalar b) {
  Scalar out = unsigned_byte(a, 0) * signed_byte(b, 0);
  for (int n = 1; n < 4; ++n) out = out + unsigned_byte(a, n) * signed_byte(b, n);
  return out;
}

std::optional<std::pair<Scalar, Scalar>> as_quad_product(Scalar s) {
  if (!is_binary(s, BinaryOp::Add) || s->dtype != DType::I32 || !is_binary(s->args[1], BinaryOp::Mul)) return std::nullopt;
  auto a = below_unsigned(s->args[1]->args[0]), b = below_signed(s->args[1]->args[1]);
  if (!a || !b || !(quad_product(*a, *b) == s)) return std::nullopt;
  return std::pair{*a, *b};
}

std::optional<Scalar> as_loaded_quad(Scalar s) {
  if (!is_binary(s, BinaryOp::BitOr) || s->dtype != DType::I32) return std::nullopt;
  Scalar first = s;
  while (is_binary(first, BinaryOp::BitOr)) first = first->args[0];
  if (!is_cast(first, DType::I32)) return std::nullopt;
  first = first->args[0];
  if (first->kind != ScalarKind::Load || first->dtype != DType::U8 || first->index.size() != 1) return std::nullopt;
  std::array<Scalar, 4> bytes{first};
  for (int n = 1; n < 4; ++n)
    bytes[static_cast<size_t>(n)] = make_load(*s->ctx, first->tensor, DType::U8, {first->index[0] + n});
  return make_quad(bytes) == s ? std::optional(first) : std::nullopt;
}

}  // namespace pliant::expr
