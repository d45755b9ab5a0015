// Windows whose axes can be reduced one after the other, as those of pools can: a window of 13 by 13 is 26 taps then.
#pragma once
#include "lower/lower.h"

namespace pliant::lower {

bool is_separable(const Problem& p, const StageList& list);
Result<LoweredNode> lower_separable(const Problem& p, const StageList& list);

}  // namespace pliant::lower
