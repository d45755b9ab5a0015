// Rows picked out of a tensor.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pliant::runtime {

template <size_t Bytes, class Pick>
void copy_fixed_rows(std::byte* to, const std::byte* from, int64_t count, Pick&& pick) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + static_cast<size_t>(i) * Bytes, from + static_cast<size_t>(pick(i)) * Bytes, Bytes);
}

// Row i of `to`, of `bytes` bytes, becomes row pick(i) of `from`, for i in [0, count).
template <class Pick>
void copy_rows(std::byte* to, const std::byte* from, size_t bytes, int64_t count, Pick&& pick) {
  switch (bytes) {
    case 1: return copy_fixed_rows<1>(to, from, count, pick);
    case 2: return copy_fixed_rows<2>(to, from, count, pick);
    case 4: return copy_fixed_rows<4>(to, from, count, pick);
    case 8: return copy_fixed_rows<8>(to, from, count, pick);
    case 16: return copy_fixed_rows<16>(to, from, count, pick);
    default:
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(pick(i)) * bytes, bytes);
  }
}

}  // namespace pliant::runtime
