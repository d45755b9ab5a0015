// Conditions on 64 elements at a time, as the bits of a word: what picks elements walks set bits instead of branching on
// each element.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/threads/turns.h"

namespace pliant::runtime {

inline constexpr int64_t kWordBits = 64;
inline constexpr int64_t words_for(int64_t elements) { return elements / kWordBits + (elements % kWordBits != 0); }

// Bit i is byte i, each 0 or 1.
inline uint64_t bits_of(const uint8_t (&bytes)[kWordBits]) {
  uint64_t out = 0;
  for (int64_t part = 0; part < 8; ++part) {
    uint64_t eight;
    std::memcpy(&eight, bytes + 8 * part, sizeof eight);
    // Byte i times the factor's bit 56 - 7 * i is bit 56 + i; no two products meet.
    out |= (eight * 0x0102040810204080u) >> 56 << (8 * part);
  }
  return out;
}

// How many of 64 bytes, each 0 or 1, are set.
inline int64_t count_of(const uint8_t (&bytes)[kWordBits]) {
  uint64_t sums = 0;
  for (int64_t part = 0; part < 8; ++part) {
    uint64_t eight;
    std::memcpy(&eight, bytes + 8 * part, sizeof eight);
    sums += eight;
  }
  return static_cast<int64_t>((sums * 0x0101010101010101u) >> 56);
}

// One bit an element that is not zero; gives how many there are. Bits outside `mask` do not count.
template <class Bits>
int64_t mark_part(const std::byte* data, int64_t elements, Bits mask, uint64_t* words) {
  int64_t count = 0;
  for (int64_t begin = 0; begin < elements; begin += kWordBits, ++words) {
    Bits v[kWordBits];
    uint8_t set[kWordBits];
    const std::byte* from = data + begin * static_cast<int64_t>(sizeof(Bits));
    if (elements - begin >= kWordBits) {
      std::memcpy(v, from, sizeof v);
    } else {
      std::memset(v, 0, sizeof v);
      std::memcpy(v, from, static_cast<size_t>(elements - begin) * sizeof(Bits));
    }
    for (int64_t i = 0; i < kWordBits; ++i) set[i] = static_cast<Bits>(v[i] & mask) != 0;
    *words = bits_of(set);
    count += count_of(set);
  }
  return count;
}

// The same, in turns; `count` gets how many there are.
template <class Bits>
pliant_status mark_nonzero(StopFlag flag, const std::byte* data, int64_t elements, Bits mask, uint64_t* words,
                           int64_t& count) {
  count = 0;
  return flag.in_turns(elements, 1, [&](int64_t begin, int64_t end) {
    count +=
        mark_part<Bits>(data + begin * static_cast<int64_t>(sizeof(Bits)), end - begin, mask, words + begin / kWordBits);
  });
}

// Calls f with the position of each set bit, in order.
template <class F>
inline void for_each_bit(uint64_t word, F&& f) {
  for (; word != 0; word &= word - 1) f(__builtin_ctzll(word));
}

}  // namespace pliant::runtime
