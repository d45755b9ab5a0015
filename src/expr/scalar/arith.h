// The arithmetic of Scalars on C++ values: what constant folding, the reference evaluator and the loop interpreter share.
// Types: bool, the fixed-width integers, float and double. f16 and bf16 values are held as float; the caller rounds
// results of arithmetic with round_to.
#pragma once
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "expr/expr.h"

namespace pliant::expr::arith {

// Calls f(T{}) with the C++ type in which values of `t` are computed.
template <class F>
decltype(auto) with_type(DType t, F&& f) {
  switch (t) {
    case DType::Bool: return f(bool{});
    case DType::I8: return f(int8_t{});
    case DType::I16: return f(int16_t{});
    case DType::I32: return f(int32_t{});
    case DType::I64: return f(int64_t{});
    case DType::U8: return f(uint8_t{});
    case DType::U16: return f(uint16_t{});
    case DType::U32: return f(uint32_t{});
    case DType::U64: return f(uint64_t{});
    case DType::F64: return f(double{});
    case DType::F16:
    case DType::BF16:
    case DType::F32: break;
  }
  return f(float{});
}

inline float round_to(DType t, float v) {
  if (t == DType::F16) return f16_to_f32(f32_to_f16(v));
  if (t == DType::BF16) return bf16_to_f32(f32_to_bf16(v));
  return v;
}

// Memory and constant bits of one value.
template <class T>
T load_bits(DType t, uint64_t bits) {
  if constexpr (std::is_same_v<T, float>) {
    if (t == DType::F16) return f16_to_f32(static_cast<uint16_t>(bits));
    if (t == DType::BF16) return bf16_to_f32(static_cast<uint16_t>(bits));
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(bits);
  } else {
    return static_cast<T>(bits);
  }
}
template <class T>
uint64_t store_bits(DType t, T v) {
  if constexpr (std::is_same_v<T, float>) {
    if (t == DType::F16) return f32_to_f16(v);
    if (t == DType::BF16) return f32_to_bf16(v);
    return std::bit_cast<uint32_t>(v);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(v);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(v));
  } else {
    return static_cast<uint64_t>(v);
  }
}

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
T wrap_pow(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == T(-1)) return exponent % 2 == 0 ? T(1) : T(-1);
      return 0;
    }
  }
  uint64_t result = 1;
  uint64_t square = static_cast<uint64_t>(base);
  for (Unsigned<T> e = static_cast<Unsigned<T>>(exponent); e != 0; e = static_cast<Unsigned<T>>(e >> 1)) {
    if (e & 1u) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <class T>
T divide(T a, T b) {
  if constexpr (is_integer<T>) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return static_cast<T>(0 - static_cast<uint64_t>(a));
    }
    return static_cast<T>(a / b);
  } else if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else {
    return a / b;
  }
}

// The remainder with the sign of the dividend.
template <class T>
T remainder(T a, T b) {
  if constexpr (is_integer<T>) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return 0;
    }
    return static_cast<T>(a % b);
  } else if constexpr (std::is_same_v<T, bool>) {
    return false;
  } else {
    return std::fmod(a, b);
  }
}

// The remainder with the sign of the divisor.
template <class T>
T modulo(T a, T b) {
  T r = remainder(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    if (r == 0) return std::copysign(r, b);
    if ((r < 0) != (b < 0)) r += b;
  } else if constexpr (std::is_signed_v<T>) {
    if (r != 0 && (r < 0) != (b < 0)) r = static_cast<T>(r + b);
  }
  return r;
}

template <class T>
T shift_left(T a, T b) {
  if constexpr (is_integer<T>) {
    if (static_cast<uint64_t>(b) >= sizeof(T) * 8) return 0;
    return static_cast<T>(static_cast<uint64_t>(a) << b);
  } else {
    return a;
  }
}
template <class T>
T shift_right(T a, T b) {
  if constexpr (is_integer<T>) {
    if (static_cast<uint64_t>(b) >= sizeof(T) * 8) return a < T(0) ? T(-1) : T(0);
    return static_cast<T>(a >> b);
  } else {
    return a;
  }
}

// Transcendental functions of f32 are computed in f64 and rounded, so that references are as exact as the type allows.
template <class T, class F>
T via_double(T x, F&& f) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(f(static_cast<double>(x)));
  } else {
    return x;
  }
}

// A binary operation that gives its operands' type. Operations without a meaning for a type give `a`.
template <BinaryOp op, class T>
T binary(T a, T b) {
  if constexpr (op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul) {
    if constexpr (std::is_same_v<T, bool>) {
      return op == BinaryOp::Mul ? (a && b) : op == BinaryOp::Add ? (a || b) : (a != b);
    } else if constexpr (std::is_integral_v<T>) {
      const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      return static_cast<T>(op == BinaryOp::Add ? x + y : op == BinaryOp::Sub ? x - y : x * y);
    } else {
      return op == BinaryOp::Add ? a + b : op == BinaryOp::Sub ? a - b : a * b;
    }
  } else if constexpr (op == BinaryOp::Div) {
    return divide(a, b);
  } else if constexpr (op == BinaryOp::Mod) {
    return modulo(a, b);
  } else if constexpr (op == BinaryOp::Rem) {
    return remainder(a, b);
  } else if constexpr (op == BinaryOp::Pow) {
    if constexpr (is_integer<T>)
      return wrap_pow(a, b);
    else if constexpr (std::is_same_v<T, bool>)
      return a || !b;
    else
      return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  } else if constexpr (op == BinaryOp::Min) {
    return a != a ? a : b != b ? b : (b < a ? b : a);
  } else if constexpr (op == BinaryOp::Max) {
    return a != a ? a : b != b ? b : (a < b ? b : a);
  } else if constexpr (op == BinaryOp::And) {
    return static_cast<T>(a != T(0) && b != T(0));
  } else if constexpr (op == BinaryOp::Or) {
    return static_cast<T>(a != T(0) || b != T(0));
  } else if constexpr (op == BinaryOp::Xor) {
    return static_cast<T>((a != T(0)) != (b != T(0)));
  } else if constexpr (op == BinaryOp::Shl) {
    return shift_left(a, b);
  } else if constexpr (op == BinaryOp::Shr) {
    return shift_right(a, b);
  } else if constexpr (op == BinaryOp::Atan2) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(std::atan2(static_cast<double>(a), static_cast<double>(b)));
    else
      return a;
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (op == BinaryOp::BitAnd) return static_cast<T>(a & b);
    if constexpr (op == BinaryOp::BitOr) return static_cast<T>(a | b);
    if constexpr (op == BinaryOp::BitXor) return static_cast<T>(a ^ b);
  } else {
    return a;
  }
}

template <BinaryOp op, class T>
bool compare(T a, T b) {
  if constexpr (op == BinaryOp::Eq) return a == b;
  if constexpr (op == BinaryOp::Ne) return a != b;
  if constexpr (op == BinaryOp::Lt) return a < b;
  if constexpr (op == BinaryOp::Le) return a <= b;
  if constexpr (op == BinaryOp::Gt) return a > b;
  return a >= b;
}

// IsNan and IsInf give 1 or 0 of the operand's type here; their scalars are Bool.
template <UnaryOp op, class T>
T unary(T x) {
  using std::is_floating_point_v;
  if constexpr (op == UnaryOp::Neg) {
    if constexpr (std::is_same_v<T, bool>)
      return x;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(0 - static_cast<uint64_t>(x));
    else
      return -x;
  } else if constexpr (op == UnaryOp::Abs) {
    if constexpr (is_floating_point_v<T>)
      return std::fabs(x);
    else if constexpr (std::is_signed_v<T>)
      return x < 0 ? static_cast<T>(0 - static_cast<uint64_t>(x)) : x;
    else
      return x;
  } else if constexpr (op == UnaryOp::Not) {
    return static_cast<T>(x == T(0));
  } else if constexpr (op == UnaryOp::BitNot) {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(~x);
    else
      return x;
  } else if constexpr (op == UnaryOp::Sign) {
    return x > T(0) ? T(1) : x < T(0) ? static_cast<T>(-1) : x;
  } else if constexpr (op == UnaryOp::Sqrt) {
    if constexpr (is_floating_point_v<T>)
      return std::sqrt(x);
    else
      return x;
  } else if constexpr (op == UnaryOp::Rsqrt) {
    return via_double(x, [](double v) { return 1.0 / std::sqrt(v); });
  } else if constexpr (op == UnaryOp::Recip) {
    if constexpr (is_floating_point_v<T>)
      return T(1) / x;
    else
      return divide(T(1), x);
  } else if constexpr (op == UnaryOp::Exp) {
    return via_double(x, [](double v) { return std::exp(v); });
  } else if constexpr (op == UnaryOp::Log) {
    return via_double(x, [](double v) { return std::log(v); });
  } else if constexpr (op == UnaryOp::Log1p) {
    return via_double(x, [](double v) { return std::log1p(v); });
  } else if constexpr (op == UnaryOp::Expm1) {
    return via_double(x, [](double v) { return std::expm1(v); });
  } else if constexpr (op == UnaryOp::Sin) {
    return via_double(x, [](double v) { return std::sin(v); });
  } else if constexpr (op == UnaryOp::Cos) {
    return via_double(x, [](double v) { return std::cos(v); });
  } else if constexpr (op == UnaryOp::Tan) {
    return via_double(x, [](double v) { return std::tan(v); });
  } else if constexpr (op == UnaryOp::Asin) {
    return via_double(x, [](double v) { return std::asin(v); });
  } else if constexpr (op == UnaryOp::Acos) {
    return via_double(x, [](double v) { return std::acos(v); });
  } else if constexpr (op == UnaryOp::Atan) {
    return via_double(x, [](double v) { return std::atan(v); });
  } else if constexpr (op == UnaryOp::Sinh) {
    return via_double(x, [](double v) { return std::sinh(v); });
  } else if constexpr (op == UnaryOp::Cosh) {
    return via_double(x, [](double v) { return std::cosh(v); });
  } else if constexpr (op == UnaryOp::Tanh) {
    return via_double(x, [](double v) { return std::tanh(v); });
  } else if constexpr (op == UnaryOp::Asinh) {
    return via_double(x, [](double v) { return std::asinh(v); });
  } else if constexpr (op == UnaryOp::Acosh) {
    return via_double(x, [](double v) { return std::acosh(v); });
  } else if constexpr (op == UnaryOp::Atanh) {
    return via_double(x, [](double v) { return std::atanh(v); });
  } else if constexpr (op == UnaryOp::Erf) {
    return via_double(x, [](double v) { return std::erf(v); });
  } else if constexpr (op == UnaryOp::Sigmoid) {
    return via_double(x, [](double v) { return 1.0 / (1.0 + std::exp(-v)); });
  } else if constexpr (op == UnaryOp::Floor) {
    if constexpr (is_floating_point_v<T>)
      return std::floor(x);
    else
      return x;
  } else if constexpr (op == UnaryOp::Ceil) {
    if constexpr (is_floating_point_v<T>)
      return std::ceil(x);
    else
      return x;
  } else if constexpr (op == UnaryOp::Round) {
    if constexpr (is_floating_point_v<T>)
      return std::nearbyint(x);
    else
      return x;
  } else if constexpr (op == UnaryOp::Trunc) {
    if constexpr (is_floating_point_v<T>)
      return std::trunc(x);
    else
      return x;
  } else if constexpr (op == UnaryOp::IsNan) {
    return static_cast<T>(x != x);
  } else {
    static_assert(op == UnaryOp::IsInf);
    if constexpr (is_floating_point_v<T>)
      return static_cast<T>(std::isinf(x));
    else
      return T(0);
  }
}

// To a float type: for the halves, the caller has `to` rounded from the f32 (from f64 through f64_to_f32_odd).
template <class To, class From>
To cast(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (v != v) return 0;
    // Both limits as floats are powers of two or their predecessors rounded up, so `>=` is exact.
    constexpr From lowest = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From highest = static_cast<From>(std::numeric_limits<To>::max());
    if (v <= lowest) return std::numeric_limits<To>::min();
    if (v >= highest) return std::numeric_limits<To>::max();
    return static_cast<To>(v);
  } else {
    return static_cast<To>(v);
  }
}
template <class From>
float cast_to_half(DType to, From v) {
  if constexpr (std::is_same_v<From, double>)
    return round_to(to, f64_to_f32_odd(v));
  else if constexpr (is_integer<From> && sizeof(From) >= 4)
    return round_to(to, f64_to_f32_odd(static_cast<double>(v)));
  else
    return round_to(to, static_cast<float>(v));
}

}  // namespace pliant::expr::arith
