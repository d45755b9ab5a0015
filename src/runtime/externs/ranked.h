// Keys with the positions of their elements, in ascending order of key and, of equal ones, of position.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

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

// From how many ranks on counting digits beats comparing.
inline constexpr int64_t kRadixFrom = 256;

// Sorts ranks that are in order of position, by their keys' bytes from the lowest on; bytes that are the same everywhere are
// passed over. The result is in `ranks` or in `other`, which has as much room.
template <class Rank>
Rank* radix_sort(Rank* ranks, Rank* other, int64_t count) {
  int64_t counts[Rank::kKeyBytes][256] = {};
  for (int64_t i = 0; i < count; ++i)
    for (int b = 0; b < Rank::kKeyBytes; ++b) ++counts[b][ranks[i].digit(b)];
  for (int b = 0; b < Rank::kKeyBytes; ++b) {
    if (counts[b][ranks[0].digit(b)] == count) continue;
    int64_t begin = 0;
    for (int64_t& c : counts[b]) begin += std::exchange(c, begin);
    for (int64_t i = 0; i < count; ++i) other[counts[b][ranks[i].digit(b)]++] = ranks[i];
    std::swap(ranks, other);
  }
  return ranks;
}

// Likewise, by what is faster.
template <class Rank>
Rank* sort_ranks(Rank* ranks, Rank* other, int64_t count) {
  if (count >= kRadixFrom) return radix_sort(ranks, other, count);
  std::sort(ranks, ranks + count);
  return ranks;
}

}  // namespace pliant::runtime
