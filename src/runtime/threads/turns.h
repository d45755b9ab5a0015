// Long work in turns: what the runtime does itself, it does in pieces, and looks between them whether the run is to end.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/error.h"

namespace pliant::runtime {

// In simple operations, or half as many where each is a cache miss: some hundred microseconds to a few milliseconds.
inline constexpr int64_t kOperationsOfOneTurn = int64_t{1} << 16;

// A run's stop flag, not 0 once it is to end. Null: never.
class StopFlag {
 public:
  explicit StopFlag(const int32_t* flag) : flag_(flag) {}
  bool is_set() const { return flag_ != nullptr && __atomic_load_n(flag_, __ATOMIC_RELAXED) != 0; }
  // PLIANT_CANCELLED once the run is to end.
  pliant_status poll() const { return is_set() ? cancelled() : PLIANT_OK; }

  // Calls part(begin, end) for ranges of [0, count) in order, each of about a turn's work, with a look at the flag before
  // each. Ranges begin at multiples of 64 unless an item is `each` operations long and 64 of them more than a turn.
  template <class Part>
  pliant_status in_turns(int64_t count, int64_t each, Part&& part) const {
    int64_t step = std::max<int64_t>(kOperationsOfOneTurn / std::max<int64_t>(each, 1), 1);
    if (step > 64) step -= step % 64;
    for (int64_t begin = 0; begin < count;) {
      PLIANT_TRY(poll());
      const int64_t end = count - begin > step ? begin + step : count;
      part(begin, end);
      begin = end;
    }
    return PLIANT_OK;
  }

 private:
  const int32_t* flag_;
};

// The same for work that is no plain loop: counts it, and looks at the flag when a turn's is done.
class TurnCounter {
 public:
  explicit TurnCounter(StopFlag flag) : flag_(flag) {}
  // Whether the run is to end; `work` operations were done since the last call. Once true, always.
  bool is_over(int64_t work) {
    left_ -= work;
    return left_ < 0 && look();
  }

 private:
  bool look() {
    if (flag_.is_set()) return true;
    left_ = kOperationsOfOneTurn;
    return false;
  }
  StopFlag flag_;
  int64_t left_ = kOperationsOfOneTurn;
};

// Moves bytes, which may overlap.
pliant_status copy_bytes(std::byte* to, const std::byte* from, uint64_t bytes, StopFlag flag);
// Copies an [outer][size][inner] part: `rows` rows of `bytes` each.
pliant_status copy_rows(std::byte* to, uint64_t to_stride, const std::byte* from, uint64_t from_stride, uint64_t rows,
                        uint64_t bytes, StopFlag flag);

}  // namespace pliant::runtime
