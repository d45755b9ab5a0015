// Sums of products of 8-bit integers less their zero points, with constants as one factor: the differences fit i16, and
// machines multiply and add pairs of those in one step.
#pragma once
#include "lower/lower.h"

namespace pliant::lower {

bool has_pairs(const Problem& p, const StageList& list);
Result<LoweredNode> lower_pairs(const Problem& p, const StageList& list);

}  // namespace pliant::lower
