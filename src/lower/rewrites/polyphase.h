// Sums in which a tap exists only where its distance from the output's position is a multiple of a stride, as in the
// transpose of a convolution: outputs whose positions leave the same rest have the same taps, and are a sum of their own.
#pragma once
#include "lower/lower.h"

namespace pliant::lower {

bool has_phases(const Problem& p, const StageList& list);
Result<LoweredNode> lower_polyphase(const Problem& p, const StageList& list);

}  // namespace pliant::lower
