// Maps that are another expression in each range of one axis, as concatenations are.
#pragma once
#include <vector>

#include "lower/stages.h"

namespace pliant::lower {

// Positions [begin, begin + length) of axis `axis`, where the stage's body is `body`.
struct Segment {
  size_t axis = 0;
  Dim begin, length;
  Scalar body;
};
// The ranges of a map whose body is select(i < e1, x1, select(i < e2, x2, …)) for one of its axes, i, and ends that do not
// depend on the position: each segment is computed without the others' conditions and loads. Empty where the body is nothing
// of the kind, or where so few elements are not worth kernels of their own. The ends must not decrease, as sums of sizes
// do not.
std::vector<Segment> segments_of(expr::Context& ctx, const Stage& s);

}  // namespace pliant::lower
