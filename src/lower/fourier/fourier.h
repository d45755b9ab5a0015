// Fourier sums in O(n log n): transforms of rows of any length, by mixed radices or as a convolution.
#pragma once
#include "lower/lower.h"

namespace pliant::lower {

bool has_fourier(const Problem& p, const StageList& list);
Result<LoweredNode> lower_fourier(const Problem& p, const StageList& list);

}  // namespace pliant::lower
