// Keys with the positions of their elements, in ascending order of key and, of equal ones, of position.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/threads/turns.h"

namespace pliant::runtime {

// A narrow key above a position below 2^32.
struct PackedRank {
  uint64_t bits;

  using Key = int32_t;
  static constexpr int kKeyBytes = 4;
  static PackedRank of(Key key, int64_t index) {
    return {static_cast<uint64_t>(static_cast<uint32_t>(key) ^ 0x80000000u) << 32 | static_cast<uint64_t>(index)};
  }
  Key key() const { return static_cast<Key>(static_cast<uint32_t>(bits >> 32) ^ 0x80000000u); }
  int64_t index() const { return static_cast<int64_t>(bits & UINT32_MAX); }
  uint64_t digit(int byte) const { return bits >> (32 + 8 * byte) & 0xff; }
  bool operator<(const PackedRank& other) const { return bits < other.bits; }
};

// Any key and position.
struct WideRank {
  uint64_t bits;
  int64_t position;

  using Key = int64_t;
  static constexpr int kKeyBytes = 8;
  static WideRank of(Key key, int64_t index) { return {static_cast<uint64_t>(key) ^ (uint64_t{1} << 63), index}; }
  Key key() const { return static_cast<Key>(bits ^ (uint64_t{1} << 63)); }
  int64_t index() const { return position; }
  uint64_t digit(int byte) const { return bits >> (8 * byte) & 0xff; }
  bool operator<(const WideRank& other) const { return bits != other.bits ? bits < other.bits : position < other.position; }
};

// The ranks of `count` keys.
template <class Rank>
pliant_status fill_ranks(StopFlag flag, const typename Rank::Key* keys, int64_t count, Rank* ranks) {
  return flag.in_turns(count, 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ranks[i] = Rank::of(keys[i], i);
  });
}

// From how many ranks on counting digits beats comparing.
inline constexpr int64_t kRadixFrom = 256;

// Sorts ranks that are in order of position, by their keys' bytes from the lowest on; bytes that are the same everywhere are
// passed over. The result is in `ranks` or in `other`, which has as much room: `sorted`.
template <class Rank>
pliant_status radix_sort(StopFlag flag, Rank* ranks, Rank* other, int64_t count, Rank*& sorted) {
  int64_t counts[Rank::kKeyBytes][256] = {};
  PLIANT_TRY(flag.in_turns(count, Rank::kKeyBytes, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int b = 0; b < Rank::kKeyBytes; ++b) ++counts[b][ranks[i].digit(b)];
  }));
  for (int b = 0; b < Rank::kKeyBytes; ++b) {
    if (counts[b][ranks[0].digit(b)] == count) continue;
    int64_t first = 0;
    for (int64_t& c : counts[b]) first += std::exchange(c, first);
    PLIANT_TRY(flag.in_turns(count, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) other[counts[b][ranks[i].digit(b)]++] = ranks[i];
    }));
    std::swap(ranks, other);
  }
  sorted = ranks;
  return PLIANT_OK;
}

// Likewise, by what is faster.
template <class Rank>
pliant_status sort_ranks(StopFlag flag, Rank* ranks, Rank* other, int64_t count, Rank*& sorted) {
  if (count >= kRadixFrom) return radix_sort(flag, ranks, other, count, sorted);
  std::sort(ranks, ranks + count);
  sorted = ranks;
  return PLIANT_OK;
}

// The functions of the standard library take this many ranks at most: they cannot be interrupted.
inline constexpr int64_t kSortedAtOnce = int64_t{1} << 14;

// The median of a sample at positions that are no pattern of the data's.
template <class Rank>
Rank median_of_sample(const Rank* ranks, int64_t count) {
  constexpr size_t kSample = 33;
  Rank sample[kSample];
  auto state = static_cast<uint64_t>(count) | 1;
  for (size_t i = 0; i < kSample; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    sample[i] = ranks[state % static_cast<uint64_t>(count)];
  }
  std::sort(sample, sample + kSample);
  return sample[kSample / 2];
}

// Moves the ranks less than a pivot to the front: `less` of them, which is neither none nor all.
template <class Rank>
pliant_status part_ranks(StopFlag flag, Rank* ranks, int64_t count, int64_t& less) {
  Rank pivot = median_of_sample(ranks, count);
  for (bool is_least = true;;) {
    less = 0;
    PLIANT_TRY(flag.in_turns(count, 2, [&](int64_t begin, int64_t end) {
      int64_t to = less;
      for (int64_t i = begin; i < end; ++i) {
        const Rank r = ranks[i];
        ranks[i] = ranks[to];
        ranks[to] = r;
        to += r < pivot;
      }
      less = to;
    }));
    // Ranks differ: where the sample gave the least of all, another is greater.
    if (less > 0 || !is_least) return PLIANT_OK;
    pivot = std::max(ranks[0], ranks[1]);
    is_least = false;
  }
}

// As std::nth_element: ranks[nth] is what it is in order, those before it are less.
template <class Rank>
pliant_status select_nth(StopFlag flag, Rank* ranks, int64_t nth, int64_t count) {
  while (count > kSortedAtOnce) {
    int64_t less;
    PLIANT_TRY(part_ranks(flag, ranks, count, less));
    if (nth < less) {
      count = less;
    } else {
      ranks += less, nth -= less, count -= less;
    }
  }
  std::nth_element(ranks, ranks + nth, ranks + count);
  return PLIANT_OK;
}

// In any order before.
template <class Rank>
pliant_status sort_in_place(StopFlag flag, Rank* ranks, int64_t count) {
  while (count > kSortedAtOnce) {
    int64_t less;
    PLIANT_TRY(part_ranks(flag, ranks, count, less));
    // The smaller part by a call, so that calls are few deep.
    if (less < count - less) {
      PLIANT_TRY(sort_in_place(flag, ranks, less));
      ranks += less, count -= less;
    } else {
      PLIANT_TRY(sort_in_place(flag, ranks + less, count - less));
      count = less;
    }
  }
  PLIANT_TRY(flag.poll());
  std::sort(ranks, ranks + count);
  return PLIANT_OK;
}

}  // namespace pliant::runtime
