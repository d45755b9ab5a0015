// The start of a run: finds each input, checks it against its description, and binds the key slots.
#pragma once
#include "runtime/model.h"

namespace pliant::runtime {

// Fills state.inputs and state.key. Messages name the input, axis, symbol, what was expected and where that came from.
pliant_status bind_inputs(const Model& model, State& state, const pliant_input* given, size_t count);
// The axes that no bind covers, against the slots of the plan.
pliant_status check_unbound_axes(const Model& model, const State& state, const std::vector<int64_t>& slots);

}  // namespace pliant::runtime
