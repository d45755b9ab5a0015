// Axes that only data tell, as arithmetic of sizes.
#pragma once
#include "frontend/onnx/conversion.h"

namespace pliant::frontend::onnx {

// The axes that input i names, read when they are there. The arithmetic grows with their number, so there may only be a few.
Result<std::vector<Dim>> data_axes(Conversion& c, size_t i, const std::string& what);
// One number an axis of `rank`: 1 where it is among `axes`, else 0. Each axis must lie in [-rank, rank).
std::vector<Dim> axis_masks(Conversion& c, const std::vector<Dim>& axes, size_t rank);
// The sizes of `shape` at the places that `masks` leaves, and 1 at the others.
graph::Shape spread_sizes(Conversion& c, const graph::Shape& shape, const std::vector<Dim>& masks);
// The `left` sizes of `shape` that `masks` does not name.
graph::Shape gather_sizes(Conversion& c, const graph::Shape& shape, const std::vector<Dim>& masks, size_t left);

}  // namespace pliant::frontend::onnx
