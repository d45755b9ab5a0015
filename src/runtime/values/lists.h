// Sequences and optionals where a run begins and ends: the caller's tensors into list registers, and those of the outputs
// handed over.
#pragma once
#include "runtime/load/model.h"

namespace pliant::runtime {

// Fills the registers of the inputs that are no tensors. An optional that is not given holds no value.
pliant_status bind_lists(const Model& model, State& state, const pliant_list_input* given, size_t count);
// Takes apart, in turns, what runs that were ended held. Before the lists of a run are bound: memory is counted anew there.
pliant_status release_abandoned(State& state);
// Gives `lists`, one for each output of the model, those of the outputs that are no tensors; then empties all registers.
// `lists` is null when the run failed or the caller wants none.
pliant_status finish_lists(Model& model, State& state, pliant_list** lists);
const char* kind_name(artifact::TensorDesc::Kind kind);  // "a sequence"

}  // namespace pliant::runtime

struct pliant_list {
  pliant::runtime::TensorList list;
};
