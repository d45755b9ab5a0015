#include "expr/scalar/fold.h"

#include "expr/scalar/arith_dispatch.h"

namespace pliant::expr {

using namespace arith;  // NOLINT: the file is about it

uint64_t fold_unary(UnaryOp op, DType t, uint64_t x) {
  return with_type(t, [&](auto tag) {
    using T = decltype(tag);
    const T v = load_bits<T>(t, x);
    return with_unary(op, [&](auto o) -> uint64_t {
      const T r = unary<decltype(o)::value, T>(v);
      if (op == UnaryOp::IsNan || op == UnaryOp::IsInf) return r != T(0);
      return store_bits<T>(t, r);
    });
  });
}

uint64_t fold_binary(BinaryOp op, DType t, uint64_t a, uint64_t b) {
  return with_type(t, [&](auto tag) {
    using T = decltype(tag);
    const T x = load_bits<T>(t, a);
    const T y = load_bits<T>(t, b);
    if (is_comparison(op)) {
      return with_comparison(op, [&](auto o) -> uint64_t { return compare<decltype(o)::value, T>(x, y); });
    }
    return with_binary(op, [&](auto o) -> uint64_t { return store_bits<T>(t, binary<decltype(o)::value, T>(x, y)); });
  });
}

uint64_t fold_cast(DType to, DType from, uint64_t x) {
  return with_type(from, [&](auto from_tag) {
    using From = decltype(from_tag);
    const From v = load_bits<From>(from, x);
    if (to == DType::F16 || to == DType::BF16) return store_bits<float>(to, cast_to_half(to, v));
    return with_type(to, [&](auto to_tag) {
      using To = decltype(to_tag);
      return store_bits<To>(to, cast<To>(v));
    });
  });
}

uint64_t fold_bitcast(DType to, DType from, uint64_t x) {
  const int64_t bytes = byte_size(from);
  if (bytes < 8) x &= (uint64_t{1} << (8 * bytes)) - 1;
  if (!is_signed_int(to)) return to == DType::Bool ? x & 0xff : x;
  const int unused = static_cast<int>(64 - 8 * bytes);
  return static_cast<uint64_t>(static_cast<int64_t>(x << unused) >> unused);
}

uint64_t fold_fma(DType t, uint64_t a, uint64_t b, uint64_t c) {
  return with_type(t, [&](auto tag) {
    using T = decltype(tag);
    const T x = load_bits<T>(t, a), y = load_bits<T>(t, b), z = load_bits<T>(t, c);
    if constexpr (std::is_floating_point_v<T>) {
      return store_bits<T>(t, std::fma(x, y, z));
    } else {
      return store_bits<T>(t, binary<BinaryOp::Add, T>(binary<BinaryOp::Mul, T>(x, y), z));
    }
  });
}

uint64_t bits_of(DType t, double v) { return fold_cast(t, DType::F64, std::bit_cast<uint64_t>(v)); }
uint64_t bits_of_int(DType t, int64_t v) { return fold_cast(t, DType::I64, static_cast<uint64_t>(v)); }

}  // namespace pliant::expr
