// Planning the arena: the buffers of one epoch of one frame.
#pragma once
#include "runtime/load/model.h"

namespace pliant::runtime {

// Places the buffers of an epoch among those of the frame that are placed, in the arena from frame.arena_begin on;
// frame.arena_end grows to the end of the highest one. Buffers of later epochs are not placed any more. Unless `exact`, a
// buffer may get somewhat more than it needs, so that sizes that keep changing are planned rarely. Where memory is checked
// (guards.h), buffers share no memory at all, have exactly what they need, and zones around them.
pliant_status place_epoch(const Model& model, State& state, Frame& frame, uint32_t epoch, bool exact);
// Memory for what the frame has placed; `pinned` as for Arena::commit.
pliant_status commit_arena(const Model& model, State& state, const Frame& frame, uint32_t epoch, bool pinned);
// The node that the buffer of the program belongs to, for messages: that of the first instruction that names it.
std::string owner_of(const Model& model, uint32_t buffer);

}  // namespace pliant::runtime
