// Row kernels: softmax, normalisations, reductions of the last axes with whatever elementwise work surrounds them.
#pragma once
#include "lower/stages.h"

namespace pliant::lower {

// Every stage is a Map or Reduce over one common set of leading axes, reads other stages only in its own row, and the
// reductions cover what follows the leading axes contiguously.
bool works_by_rows(const Problem& p, const StageList& list);
Result<LoweredNode> lower_rows(const Problem& p, const StageList& list);

}  // namespace pliant::lower
