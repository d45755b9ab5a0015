// Runs a program: plans its prefix once for each set of key-slot values, replays the plan, interprets the rest.
#pragma once
#include "runtime/load/model.h"

namespace pliant::runtime {

struct RunOptions {
  int32_t* stop = nullptr;  // the run ends soon after this is not 0
  uint64_t memory_limit = UINT64_MAX;
  const pliant_list_input* lists = nullptr;  // inputs
  size_t list_count = 0;
  pliant_list** list_outputs = nullptr;  // one for each output of the program, or null
  const uint64_t* seed = nullptr;        // of the random numbers; null: a fresh one
};
// One run. `outputs` has one element for each output of the program.
pliant_status run_model(Model& model, const pliant_input* inputs, size_t input_count, pliant_output* outputs,
                        const RunOptions& options);

}  // namespace pliant::runtime
