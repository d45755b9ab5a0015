// Ordering along one axis, shared by the functions that sort.
#pragma once
#include <algorithm>
#include <cstring>

#include "runtime/externs.h"

namespace pliant::runtime {

struct Ranked {
  uint64_t key;
  int64_t index;
};
// Ascending keys; of equal ones the lower index first.
inline bool ranks_before(const Ranked& a, const Ranked& b) { return a.key != b.key ? a.key < b.key : a.index < b.index; }

// Writes the `k` first of each lane along the axis, by descending or ascending value, with their indices: [outer][k][inner].
pliant_status select_along_axis(ExternCall& call, int64_t axis, int64_t k, bool descending);

}  // namespace pliant::runtime
