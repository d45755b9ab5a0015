// Ordering along one axis.
#pragma once
#include "runtime/library/library.h"

namespace pliant::runtime {

// Writes the `k` first of each lane along the axis, by descending or ascending value, with their indices: [outer][k][inner].
pliant_status select_along_axis(LibraryCall& call, int64_t axis, int64_t k, bool descending);

}  // namespace pliant::runtime
