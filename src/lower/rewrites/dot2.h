// Sums of products of 8-bit integers less their zero points, with constants as one factor: the differences fit i16, and
// machines multiply and add two of those in one step (the instruction dot2).
#pragma once
#include "lower/lower.h"

namespace pliant::lower {

bool has_dot2(const Problem& p, const StageList& list);
Result<LoweredNode> lower_dot2(const Problem& p, const StageList& list);

}  // namespace pliant::lower
