// Growable blocks: what carried values and scan outputs of unknown size are appended to.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pliant::runtime {

// A 64-byte aligned block whose contents stay when it grows; its address may change then. Capacity at least doubles, so that
// n appends copy O(n) bytes; large blocks grow by remapping, which copies nothing.
class GrowBlock {
 public:
  GrowBlock() = default;
  GrowBlock(const GrowBlock&) = delete;
  ~GrowBlock() { release(); }
  // Makes the capacity at least `bytes`, and at most `most` where doubling would pass it. False when there is no memory.
  bool reserve(uint64_t bytes, uint64_t most);
  // As reserve, but takes exactly `bytes`, and `zone` more on both sides, a multiple of 64.
  bool reserve_apart(uint64_t bytes, uint64_t zone);
  // Gives everything back.
  void release();
  std::byte* data() const { return data_; }
  uint64_t capacity() const { return capacity_; }

 private:
  bool is_mapped() const;
  std::byte* data_ = nullptr;
  uint64_t capacity_ = 0;
  uint64_t zone_ = 0;  // before data_, of the same piece of the heap
};

}  // namespace pliant::runtime
