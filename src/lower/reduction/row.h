// Row kernels: softmax, normalisations, reductions of the last axes with whatever elementwise work surrounds them.
#pragma once
#include "lower/stages.h"

namespace pliant::lower {

// Every stage is a Map or Reduce over one common set of leading axes, reads other stages only in its own row, and the
// reductions cover what follows the leading axes contiguously.
// The number of those axes; nothing where they do not work by rows.
std::optional<size_t> find_rows(const Problem& p, const StageList& list);
Result<LoweredNode> lower_rows(const Problem& p, const StageList& list, size_t rank);

}  // namespace pliant::lower
