// Single elements of tensors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "artifact/dtype.h"

namespace pliant::runtime {

// The integer or bool of dtype `dtype` at `p`; u64 values past the largest int64 wrap.
inline int64_t read_integer(DType dtype, const std::byte* p) {
  auto load = [&]<class T>(T v) {
    std::memcpy(&v, p, sizeof v);
    return static_cast<int64_t>(v);
  };
  switch (dtype) {
    case DType::I8: return load(int8_t{});
    case DType::I16: return load(int16_t{});
    case DType::I32: return load(int32_t{});
    case DType::U16: return load(uint16_t{});
    case DType::U32: return load(uint32_t{});
    case DType::I64:
    case DType::U64: return load(int64_t{});
    default: return load(uint8_t{});
  }
}

}  // namespace pliant::runtime
