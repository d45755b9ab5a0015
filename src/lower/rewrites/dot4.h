// Sums of products of 8-bit integers less their zero points, with constants as one factor or of two matrices, on machines
// that add the products of four bytes by four in one step.
#pragma once
#include "lower/lower.h"

namespace pliant::lower {

bool has_dot4(const Problem& p, const StageList& list);
Result<LoweredNode> lower_dot4(const Problem& p, const StageList& list);

}  // namespace pliant::lower
