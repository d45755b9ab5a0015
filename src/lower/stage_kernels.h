// Kernels for single stages: what every computation can be lowered to, one kernel a stage with memory between them.
#pragma once
#include <map>
#include <vector>

#include "lower/epilogue.h"
#include "lower/movement/segments.h"
#include "lower/stages.h"

namespace pliant::lower {

using Temporaries = std::map<expr::TensorId, int32_t>;

// Maps over one iteration space, stored by one vectorised kernel. With `segment`: that range of a group of one.
Result<LoweredKernel> lower_map_stages(const Problem& p, const StageList& list, const std::vector<const Stage*>& group,
                                       const Temporaries& temporaries, const Segment* segment = nullptr);
// A reduction with the stages after it at the store: vectorised along the output's innermost axis where the loads are
// contiguous in it, else along the reduction.
Result<LoweredKernel> lower_reduce(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                                   const Temporaries& temporaries);

// Whichever of the above fits; not for Scatter, which is two kernels.
Result<LoweredKernel> lower_single_stage(const Problem& p, const StageList& list, const Stage& s,
                                         const Temporaries& temporaries);

}  // namespace pliant::lower
