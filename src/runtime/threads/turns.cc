#include "runtime/threads/turns.h"

#include <cstring>

namespace pliant::runtime {
namespace {

// So many bytes are copied for one operation of a turn; a turn is 1 MiB, which may be 256 new pages.
constexpr uint64_t kBytesOfOneOperation = 16;
constexpr uint64_t kBytesOfOneTurn = kBytesOfOneOperation * static_cast<uint64_t>(kOperationsOfOneTurn);

}  // namespace

pliant_status copy_bytes(std::byte* to, const std::byte* from, uint64_t bytes, StopFlag flag) {
  if (bytes == 0) return PLIANT_OK;
  if (bytes <= kBytesOfOneTurn) {
    std::memmove(to, from, bytes);
    return PLIANT_OK;
  }
  // Backwards where the end of what is read would be overwritten first.
  const bool backwards = reinterpret_cast<uintptr_t>(to) > reinterpret_cast<uintptr_t>(from);
  for (uint64_t done = 0; done < bytes;) {
    PLIANT_TRY(flag.poll());
    const uint64_t n = std::min(kBytesOfOneTurn, bytes - done), at = backwards ? bytes - done - n : done;
    std::memmove(to + at, from + at, n);
    done += n;
  }
  return PLIANT_OK;
}

pliant_status copy_rows(std::byte* to, uint64_t to_stride, const std::byte* from, uint64_t from_stride, uint64_t rows,
                        uint64_t bytes, StopFlag flag) {
  if (bytes == 0) return PLIANT_OK;
  if (bytes > kBytesOfOneTurn) {
    for (uint64_t r = 0; r < rows; ++r) PLIANT_TRY(copy_bytes(to + r * to_stride, from + r * from_stride, bytes, flag));
    return PLIANT_OK;
  }
  const auto each = static_cast<int64_t>(bytes / kBytesOfOneOperation) + 4;
  return flag.in_turns(static_cast<int64_t>(rows), each, [&](int64_t begin, int64_t end) {
    for (auto r = static_cast<uint64_t>(begin); r < static_cast<uint64_t>(end); ++r)
      std::memcpy(to + r * to_stride, from + r * from_stride, bytes);
  });
}

}  // namespace pliant::runtime
