// Rows picked out of a tensor.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/threads/turns.h"

namespace pliant::runtime {

template <size_t Bytes, class Pick>
void copy_fixed_rows(std::byte* to, const std::byte* from, int64_t begin, int64_t end, Pick&& pick) {
  for (int64_t i = begin; i < end; ++i)
    std::memcpy(to + static_cast<size_t>(i) * Bytes, from + static_cast<size_t>(pick(i)) * Bytes, Bytes);
}

// Row i of `to`, of `bytes` bytes, becomes row pick(i) of `from`, for i in [0, count).
template <class Pick>
pliant_status pick_rows(StopFlag flag, std::byte* to, const std::byte* from, size_t bytes, int64_t count, Pick&& pick) {
  constexpr size_t kLongRow = 4096;
  if (bytes > kLongRow) {
    for (int64_t i = 0; i < count; ++i) {
      PLIANT_TRY(flag.poll());
      PLIANT_TRY(copy_bytes(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(pick(i)) * bytes, bytes, flag));
    }
    return PLIANT_OK;
  }
  return flag.in_turns(count, static_cast<int64_t>(4 + bytes / 16), [&](int64_t begin, int64_t end) {
    switch (bytes) {
      case 1: return copy_fixed_rows<1>(to, from, begin, end, pick);
      case 2: return copy_fixed_rows<2>(to, from, begin, end, pick);
      case 4: return copy_fixed_rows<4>(to, from, begin, end, pick);
      case 8: return copy_fixed_rows<8>(to, from, begin, end, pick);
      case 16: return copy_fixed_rows<16>(to, from, begin, end, pick);
      default:
        for (int64_t i = begin; i < end; ++i)
          std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(pick(i)) * bytes, bytes);
    }
  });
}

}  // namespace pliant::runtime
