#include "runtime/memory/planner.h"

#include <algorithm>

namespace pliant::runtime {

uint64_t Planner::place(std::span<Interval> intervals) {
  order_.clear();
  by_offset_.clear();
  uint64_t end = 0;
  for (uint32_t i = 0; i < intervals.size(); ++i) {
    Interval& v = intervals[i];
    if (v.placed) {
      if (v.bytes > 0) by_offset_.push_back(i);
      end = std::max(end, v.offset + v.bytes);
    } else if (v.bytes > 0) {
      order_.push_back(i);
    } else {
      v.offset = 0;
      v.placed = true;
    }
  }
  auto offset_less = [&](uint32_t a, uint32_t b) { return intervals[a].offset < intervals[b].offset; };
  std::sort(by_offset_.begin(), by_offset_.end(), offset_less);
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
    const Interval &x = intervals[a], &y = intervals[b];
    if (x.bytes != y.bytes) return x.bytes > y.bytes;
    // Of equal sizes the longest lived first: it restricts the others most.
    const uint32_t x_life = x.last - x.first, y_life = y.last - y.first;
    return x_life != y_life ? x_life > y_life : a < b;
  });
  for (uint32_t i : order_) {
    Interval& v = intervals[i];
    uint64_t gap_begin = 0, best_gap = UINT64_MAX, best = 0;
    for (uint32_t j : by_offset_) {
      const Interval& other = intervals[j];
      if (other.last < v.first || v.last < other.first) continue;
      if (other.offset > gap_begin) {
        const uint64_t gap = other.offset - gap_begin;
        if (gap >= v.bytes && gap < best_gap) best_gap = gap, best = gap_begin;
      }
      gap_begin = std::max(gap_begin, other.offset + other.bytes);
    }
    v.offset = best_gap != UINT64_MAX ? best : gap_begin;
    v.placed = true;
    end = std::max(end, v.offset + v.bytes);
    by_offset_.insert(std::upper_bound(by_offset_.begin(), by_offset_.end(), i, offset_less), i);
  }
  return end;
}

}  // namespace pliant::runtime
