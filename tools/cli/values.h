// Elements of arrays as doubles, for printing and comparing.
#pragma once
#include <cstring>

#include "base/half.h"
#include "te/te.h"

namespace pliant::cli {

inline int64_t element_count(const te::ArrayView& a) {
  int64_t n = 1;
  for (int64_t d : a.shape) n *= d;
  return n;
}

inline double element(const te::ArrayView& a, int64_t i) {
  auto read = [&]<class T>(T v) {
    std::memcpy(&v, a.data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return v;
  };
  switch (a.dtype) {
    case DType::Bool:
    case DType::U8: return read(uint8_t{});
    case DType::I8: return read(int8_t{});
    case DType::I16: return read(int16_t{});
    case DType::I32: return read(int32_t{});
    case DType::I64: return static_cast<double>(read(int64_t{}));
    case DType::U16: return read(uint16_t{});
    case DType::U32: return read(uint32_t{});
    case DType::U64: return static_cast<double>(read(uint64_t{}));
    case DType::F16: return f16_to_f32(read(uint16_t{}));
    case DType::BF16: return bf16_to_f32(read(uint16_t{}));
    case DType::F32: return read(float{});
    case DType::F64: return read(double{});
  }
  PLIANT_CHECK(false) << "no such dtype";
  return 0;
}

}  // namespace pliant::cli
