#include "te/columns.h"

#include <cstring>

#include "expr/scalar/arith_dispatch.h"

namespace pliant::te {
namespace {

namespace arith = expr::arith;
using arith::with_type;
using expr::BinaryOp;
using expr::UnaryOp;

// Whole blocks have a constant trip count, which the compiler turns into vector code.
template <bool whole, class F>
inline void for_lanes(int64_t n, F&& f) {
  if constexpr (whole) {
    for (int64_t block = 0; block < n; block += kBlock) {
      for (int64_t k = 0; k < kBlock; ++k) f(block + k);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) f(i);
  }
}

constexpr bool is_cheap(BinaryOp op, bool is_float) {
  if (op == BinaryOp::Div) return is_float;
  return op != BinaryOp::Mod && op != BinaryOp::Rem && op != BinaryOp::Pow && op != BinaryOp::Atan2;
}
constexpr bool is_cheap(UnaryOp op) {
  return op <= UnaryOp::Sign || op == UnaryOp::Sqrt || op == UnaryOp::Recip || op >= UnaryOp::Floor;
}

template <UnaryOp op, class T>
void run_unary(const void* a, void* out, int64_t n) {
  const T* __restrict x = static_cast<const T*>(a);
  if constexpr (op == UnaryOp::IsNan || op == UnaryOp::IsInf) {
    bool* __restrict y = static_cast<bool*>(out);
    for_lanes<true>(n, [&](int64_t i) { y[i] = arith::unary<op, T>(x[i]) != T(0); });
  } else {
    T* __restrict y = static_cast<T*>(out);
    for_lanes<is_cheap(op)>(n, [&](int64_t i) { y[i] = arith::unary<op, T>(x[i]); });
  }
}

template <BinaryOp op, class T>
void run_binary(const void* a, const void* b, void* out, int64_t n) {
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  T* __restrict z = static_cast<T*>(out);
  for_lanes<is_cheap(op, std::is_floating_point_v<T>)>(n, [&](int64_t i) { z[i] = arith::binary<op, T>(x[i], y[i]); });
}

template <BinaryOp op, class T>
void run_comparison(const void* a, const void* b, void* out, int64_t n) {
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  bool* __restrict z = static_cast<bool*>(out);
  for_lanes<true>(n, [&](int64_t i) { z[i] = arith::compare<op, T>(x[i], y[i]); });
}

template <class To, class From>
void run_cast(const void* a, void* out, int64_t n) {
  const From* __restrict x = static_cast<const From*>(a);
  To* __restrict y = static_cast<To*>(out);
  for_lanes<true>(n, [&](int64_t i) { y[i] = arith::cast<To, From>(x[i]); });
}

template <DType to, class From>
void run_cast_to_half(const void* a, void* out, int64_t n) {
  const From* __restrict x = static_cast<const From*>(a);
  float* __restrict y = static_cast<float*>(out);
  for_lanes<true>(n, [&](int64_t i) { y[i] = arith::cast_to_half(to, x[i]); });
}

template <DType to, DType from, class To, class From>
void run_bitcast(const void* a, void* out, int64_t n) {
  const From* x = static_cast<const From*>(a);
  To* y = static_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = arith::load_bits<To>(to, arith::store_bits<From>(from, x[i]));
}

// Calls f(std::integral_constant<DType, t>{}).
template <class F>
decltype(auto) with_dtype(DType t, F&& f) {
#define PLIANT_DTYPE(name) \
  case DType::name: return f(std::integral_constant<DType, DType::name>{});
  switch (t) {
    PLIANT_DTYPE(Bool)
    PLIANT_DTYPE(I8)
    PLIANT_DTYPE(I16)
    PLIANT_DTYPE(I32)
    PLIANT_DTYPE(I64)
    PLIANT_DTYPE(U8)
    PLIANT_DTYPE(U16)
    PLIANT_DTYPE(U32) PLIANT_DTYPE(U64) PLIANT_DTYPE(F16) PLIANT_DTYPE(BF16) PLIANT_DTYPE(F32) PLIANT_DTYPE(F64)
  }
#undef PLIANT_DTYPE
  PLIANT_CHECK(false) << "dtype " << static_cast<int>(t);
  __builtin_unreachable();
}

// The type of a lane.
template <DType t>
struct LaneType {
  using type = float;
};
#define PLIANT_LANE(name, T)     \
  template <>                    \
  struct LaneType<DType::name> { \
    using type = T;              \
  };
PLIANT_LANE(Bool, bool)
PLIANT_LANE(I8, int8_t)
PLIANT_LANE(I16, int16_t)
PLIANT_LANE(I32, int32_t)
PLIANT_LANE(I64, int64_t)
PLIANT_LANE(U8, uint8_t)
PLIANT_LANE(U16, uint16_t)
PLIANT_LANE(U32, uint32_t)
PLIANT_LANE(U64, uint64_t)
PLIANT_LANE(F64, double)
#undef PLIANT_LANE

template <class E>
void load_raw(const std::byte* memory, int64_t stride, void* out, int64_t n) {
  const E* p = reinterpret_cast<const E*>(memory);
  E* y = static_cast<E*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = p[i * stride];
}
template <class E>
void store_raw(const void* lanes, std::byte* memory, int64_t stride, int64_t n) {
  E* p = reinterpret_cast<E*>(memory);
  const E* x = static_cast<const E*>(lanes);
  for (int64_t i = 0; i < n; ++i) p[i * stride] = x[i];
}

// Calls f with the unsigned integer of the size of an element.
template <class F>
void with_element_bits(DType t, F&& f) {
  switch (byte_size(t)) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }

}  // namespace

int64_t lane_bytes(DType t) { return is_half(t) ? 4 : byte_size(t); }

UnaryKernel unary_kernel(UnaryOp op, DType t) {
  return with_type(t, [&](auto tag) -> UnaryKernel {
    using T = decltype(tag);
    return arith::with_unary(op, [](auto o) -> UnaryKernel { return &run_unary<decltype(o)::value, T>; });
  });
}

BinaryKernel binary_kernel(BinaryOp op, DType t) {
  return with_type(t, [&](auto tag) -> BinaryKernel {
    using T = decltype(tag);
    if (expr::is_comparison(op)) {
      return arith::with_comparison(op, [](auto o) -> BinaryKernel { return &run_comparison<decltype(o)::value, T>; });
    }
    return arith::with_binary(op, [](auto o) -> BinaryKernel { return &run_binary<decltype(o)::value, T>; });
  });
}

UnaryKernel cast_kernel(DType to, DType from) {
  return with_type(from, [&](auto from_tag) -> UnaryKernel {
    using From = decltype(from_tag);
    if (to == DType::F16) return &run_cast_to_half<DType::F16, From>;
    if (to == DType::BF16) return &run_cast_to_half<DType::BF16, From>;
    return with_type(to, [](auto to_tag) -> UnaryKernel { return &run_cast<decltype(to_tag), From>; });
  });
}

UnaryKernel bitcast_kernel(DType to, DType from) {
  return with_dtype(from, [&](auto f) -> UnaryKernel {
    return with_dtype(to, [](auto t) -> UnaryKernel {
      constexpr DType to_type = decltype(t)::value;
      constexpr DType from_type = decltype(f)::value;
      using To = typename LaneType<to_type>::type;
      using From = typename LaneType<from_type>::type;
      return &run_bitcast<to_type, from_type, To, From>;
    });
  });
}

void select_lanes(DType t, const void* cond, const void* a, const void* b, void* out, int64_t n) {
  const bool* __restrict c = static_cast<const bool*>(cond);
  with_type(t, [&](auto tag) {
    using T = decltype(tag);
    const T* __restrict x = static_cast<const T*>(a);
    const T* __restrict y = static_cast<const T*>(b);
    T* __restrict z = static_cast<T*>(out);
    for_lanes<true>(n, [&](int64_t i) { z[i] = c[i] ? x[i] : y[i]; });
  });
}

void fma_lanes(DType t, const void* a, const void* b, const void* c, void* out, int64_t n) {
  with_type(t, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T>) {
      const T* x = static_cast<const T*>(a);
      const T* y = static_cast<const T*>(b);
      const T* z = static_cast<const T*>(c);
      T* r = static_cast<T*>(out);
      for (int64_t i = 0; i < n; ++i) r[i] = std::fma(x[i], y[i], z[i]);
    } else {
      PLIANT_CHECK(false) << "fma of " << name_of(t);
    }
  });
}

void round_lanes(DType t, void* lanes, int64_t n) {
  float* x = static_cast<float*>(lanes);
  if (t == DType::F16) {
    for (int64_t i = 0; i < n; ++i) x[i] = f16_to_f32(f32_to_f16(x[i]));
  } else if (t == DType::BF16) {
    for (int64_t i = 0; i < n; ++i) x[i] = bf16_to_f32(f32_to_bf16(x[i]));
  }
}

void splat_lanes(DType t, const void* one, void* out, int64_t n) {
  with_type(t, [&](auto tag) {
    using T = decltype(tag);
    const T v = *static_cast<const T*>(one);
    T* y = static_cast<T*>(out);
    for_lanes<true>(n, [&](int64_t i) { y[i] = v; });
  });
}

void load_lanes(DType t, const std::byte* memory, int64_t stride, void* out, int64_t n) {
  if (is_half(t)) {
    const uint16_t* p = reinterpret_cast<const uint16_t*>(memory);
    float* y = static_cast<float*>(out);
    if (t == DType::F16) {
      for (int64_t i = 0; i < n; ++i) y[i] = f16_to_f32(p[i * stride]);
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = bf16_to_f32(p[i * stride]);
    }
    return;
  }
  if (stride == 1) {
    std::memcpy(out, memory, static_cast<size_t>(n * byte_size(t)));
    return;
  }
  with_element_bits(t, [&](auto tag) { load_raw<decltype(tag)>(memory, stride, out, n); });
}

void gather_lanes(DType t, const std::byte* memory, const int64_t* offsets, void* out, int64_t n) {
  if (is_half(t)) {
    float* y = static_cast<float*>(out);
    for (int64_t i = 0; i < n; ++i) {
      y[i] = 0;
      if (offsets[i] >= 0) load_lanes(t, memory + offsets[i] * 2, 1, y + i, 1);
    }
    return;
  }
  with_element_bits(t, [&](auto tag) {
    using E = decltype(tag);
    const E* p = reinterpret_cast<const E*>(memory);
    E* y = static_cast<E*>(out);
    for (int64_t i = 0; i < n; ++i) y[i] = offsets[i] >= 0 ? p[offsets[i]] : E(0);
  });
}

void store_lanes(DType t, const void* lanes, std::byte* memory, int64_t stride, int64_t n) {
  if (is_half(t)) {
    uint16_t* p = reinterpret_cast<uint16_t*>(memory);
    const float* x = static_cast<const float*>(lanes);
    if (t == DType::F16) {
      for (int64_t i = 0; i < n; ++i) p[i * stride] = f32_to_f16(x[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) p[i * stride] = f32_to_bf16(x[i]);
    }
    return;
  }
  if (stride == 1) {
    std::memcpy(memory, lanes, static_cast<size_t>(n * byte_size(t)));
    return;
  }
  with_element_bits(t, [&](auto tag) { store_raw<decltype(tag)>(lanes, memory, stride, n); });
}

void set_constant(DType t, uint64_t bits, void* out, int64_t n) {
  with_type(t, [&](auto tag) {
    using T = decltype(tag);
    const T v = arith::load_bits<T>(t, bits);
    T* y = static_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) y[i] = v;
  });
}

}  // namespace pliant::te
