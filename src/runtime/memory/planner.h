// The run-time memory planner: places buffers that live from one instruction to another so that those alive at the same time
// do not overlap. Greedy by size, best fit: the largest first, each into the smallest gap that holds it, else at the end.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace pliant::runtime {

struct Interval {
  uint64_t bytes = 0;  // a multiple of the alignment; 0 takes no place
  uint32_t first = 0, last = 0;
  uint64_t offset = 0;
  bool placed = false;  // already has its offset and stays there
  friend bool operator==(const Interval&, const Interval&) = default;
};

class Planner {
 public:
  // Places every interval that is not placed yet, around those that are. Gives the end of the highest one. Memory of earlier
  // calls is reused.
  uint64_t place(std::span<Interval> intervals);

 private:
  std::vector<uint32_t> order_;      // to place
  std::vector<uint32_t> by_offset_;  // placed
};

}  // namespace pliant::runtime
