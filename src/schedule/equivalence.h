// Whether a schedule kept the meaning of a function, by running both on the interpreter.
#pragma once
#include "schedule/schedule.h"

namespace pliant::schedule {

// Runs `before` and `after.function()` on the same random inputs at `rounds` random bindings of the symbols, small ones and
// those around tile sizes; what they write must be equal, up to rounding where updates of floats were reordered. A binding
// at which `before` itself is out of bounds does not count. The error says at which binding which element differs.
Status check_equivalence(const loop::Function& before, const Schedule& after, uint64_t seed, int rounds);

}  // namespace pliant::schedule
