// Element types, shared by the compiler, the artifact and the runtime.
#pragma once
#include <cstdint>

namespace pliant {

// The numeric values are part of the artifact format and of the C ABI: append only.
enum class DType : uint8_t {
  Bool = 0,  // one byte an element, 0 or 1
  I8 = 1,
  I16 = 2,
  I32 = 3,
  I64 = 4,
  U8 = 5,
  U16 = 6,
  U32 = 7,
  U64 = 8,
  F16 = 9,
  BF16 = 10,
  F32 = 11,
  F64 = 12,
};
inline constexpr int kDTypeCount = 13;

// Bytes of one element.
constexpr int64_t byte_size(DType t) {
  constexpr int64_t sizes[kDTypeCount] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(t)];
}
constexpr bool is_float(DType t) { return t >= DType::F16; }
constexpr bool is_signed_int(DType t) { return t >= DType::I8 && t <= DType::I64; }
constexpr bool is_unsigned_int(DType t) { return t >= DType::U8 && t <= DType::U64; }
// Integers without bool.
constexpr bool is_int(DType t) { return t >= DType::I8 && t <= DType::U64; }

// Text names as they appear in the IR texts, messages and `inspect`.
constexpr const char* name_of(DType t) {
  constexpr const char* names[kDTypeCount] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                              "u32",  "u64", "f16", "bf16", "f32", "f64"};
  return names[static_cast<int>(t)];
}

}  // namespace pliant
