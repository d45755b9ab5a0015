// The outputs of a run: their sizes, their memory, and how they are handed over.
#pragma once
#include "runtime/load/model.h"

namespace pliant::runtime {

// The size of an output from the entry's slots, once.
pliant_status size_output(const Model& model, State& state, size_t output, const int64_t* slots);
// Memory for an output whose size is known, once: the caller's, or a block.
pliant_status allocate_output(Model& model, State& state, size_t output);
// Hands over the outputs, or takes back what was allocated when the run failed.
void finish_outputs(Model& model, State& state, pliant_status status);

}  // namespace pliant::runtime
