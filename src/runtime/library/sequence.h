// What the functions on sequences and optionals share.
#pragma once
#include "runtime/library/library.h"

namespace pliant::runtime {

// Where an element is taken or put; see list_library.def.
enum class PositionMode : int64_t { End, Integer, Input, Optional };
// The position that integers 0 and 1 of the call say, as one of [0, count) of a list, or [0, count] when `may_be_end`.
pliant_status find_position(const LibraryCall& call, uint64_t count, bool may_be_end, uint64_t& position);
// The list that register 0 holds, which must be present.
pliant_status list_of(const LibraryCall& call, const TensorList*& list);
// The element that the call's position names.
pliant_status find_element(const LibraryCall& call, const ListTensor*& element);
// `wanted` of `shape` into the results.
pliant_status give_sizes(LibraryCall& call, std::span<const int64_t> shape, std::span<const int64_t> wanted);

}  // namespace pliant::runtime
