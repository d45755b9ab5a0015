// Vectors of coordinates in the last axis of an index tensor, as the gather_nd and scatter_nd operators have them.
#pragma once
#include "ops/bodies/scalars.h"

namespace pliant::ops {

// The length of the last axis of `indices`, which must be known and at most `limit`.
Result<size_t> coordinate_count(DefineContext& c, const Tensor& indices, size_t limit);
// Data checks: coordinate j lies within axis first + j of x.
void check_coordinates(DefineContext& c, const Tensor& indices, const Tensor& x, size_t first, size_t depth);
// The coordinates at `point`, which indexes every axis of `indices` but the last.
std::vector<Dim> coordinates(DefineContext& c, const Tensor& indices, const Tensor& x, const Index& point, size_t first,
                             size_t depth);

}  // namespace pliant::ops
