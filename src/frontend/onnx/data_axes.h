// Axes that only data tell, as arithmetic of sizes.
#pragma once
#include "frontend/onnx/conversion.h"

namespace pliant::frontend::onnx {

// One number an axis of `rank`: 1 where it is among `axes`, else 0. Each axis must lie in [-rank, rank).
std::vector<Dim> axis_masks(Conversion& c, const std::vector<Dim>& axes, size_t rank);
// The sizes of `shape` at the places that `masks` leaves, and 1 at the others.
graph::Shape spread_sizes(Conversion& c, const graph::Shape& shape, const std::vector<Dim>& masks);
// The `left` sizes of `shape` that `masks` does not name.
graph::Shape gather_sizes(Conversion& c, const graph::Shape& shape, const std::vector<Dim>& masks, size_t left);

}  // namespace pliant::frontend::onnx
