// What native code says of itself: directly before every function that the runtime may call stands what the function is, and
// what it needs of who calls it. Tables name functions by offsets; these records, which are part of the code, decide
// whether there is a function, of which kind, and whether a call fits it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pliant::artifact {

struct Entry {
  enum class Kind : uint32_t { Kernel = 1, Shape = 2 };
  Kind kind = Kind::Kernel;
  // Of a kernel: how many addresses and integers it reads, and which addresses it writes to.
  uint32_t args = 0, ints = 0;
  std::vector<bool> writes_to;
  // Of a shape program: the slots that it reads before it writes them, and those that it writes.
  std::vector<uint32_t> reads, writes;
};

// Functions begin at multiples of this, and so do their records.
inline constexpr uint64_t kEntryAlignment = 64;
// The record, to be put directly before the function.
std::vector<std::byte> encode_entry(const Entry& entry);
// The record of the function at `offset` of the code; false when there is none.
bool find_entry(std::span<const std::byte> text, uint64_t offset, Entry& out);

}  // namespace pliant::artifact
