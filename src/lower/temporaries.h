// Memory between the kernels of a node.
#pragma once
#include "lower/stage_kernels.h"

namespace pliant::lower {

void add_temporary(const te::Tensor& t, Temporaries& temporaries, LoweredNode& out);
// The stages before stage `root`, each a kernel of its own with memory between; neighbouring maps over one space that do not
// read each other share one.
Status lower_stages_before(const Problem& p, const StageList& list, size_t root, Temporaries& temporaries, LoweredNode& out);

}  // namespace pliant::lower
