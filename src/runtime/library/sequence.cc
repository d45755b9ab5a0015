// Lists as wholes, and what the other functions on them share.
#include "runtime/library/sequence.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/text.h"
#include "runtime/values/elements.h"

namespace pliant::runtime {

pliant_status find_position(const LibraryCall& call, uint64_t count, bool may_be_end, uint64_t& position) {
  const auto n = static_cast<int64_t>(count);
  const auto mode = static_cast<PositionMode>(call.ints[0]);
  int64_t at = may_be_end ? n : -1;
  if (mode == PositionMode::Integer) at = call.ints[1];
  if (mode == PositionMode::Input) {
    if (call.inputs.empty()) return call.fault("a position is missing");
    const LibraryInput& in = call.inputs.back();
    if (in.elements != 1 || is_float(in.dtype)) return call.fault("a position is one integer");
    at = read_integer(in.dtype, in.data);
  }
  if (mode == PositionMode::Optional) at = 0;
  if (at < -n || at > (may_be_end ? n : n - 1))
    return call.fault("position %" PRId64 " is outside a sequence of length %" PRId64, at, n);
  position = static_cast<uint64_t>(at < 0 ? at + n : at);
  return PLIANT_OK;
}

pliant_status list_of(const LibraryCall& call, const TensorList*& list) {
  list = call.list_inputs[0];
  return list->is_present() ? PLIANT_OK : call.fault("the optional holds no value");
}

pliant_status find_element(const LibraryCall& call, const ListTensor*& element) {
  const TensorList* list;
  PLIANT_TRY(list_of(call, list));
  uint64_t at;
  PLIANT_TRY(find_position(call, list->size(), false, at));
  element = &(*list)[at];
  return PLIANT_OK;
}

pliant_status give_sizes(LibraryCall& call, std::span<const int64_t> shape, std::span<const int64_t> wanted) {
  for (size_t i = 0; i < call.results.size() && i < wanted.size(); ++i) {
    if (wanted[i] < 0 || static_cast<size_t>(wanted[i]) >= shape.size())
      return call.fault("a tensor of shape %s has no axis %" PRId64, shape_text(shape.data(), shape.size()).str(),
                        wanted[i]);
    call.results[i] = shape[static_cast<size_t>(wanted[i])];
  }
  return PLIANT_OK;
}

pliant_status library_sequence_empty(LibraryCall& call) {
  return call.list_outputs[0]->make_empty() ? PLIANT_OK : PLIANT_OUT_OF_MEMORY;
}

pliant_status library_sequence_copy(LibraryCall& call) {
  *call.list_outputs[0] = *call.list_inputs[0];
  return PLIANT_OK;
}

pliant_status library_sequence_clear(LibraryCall& call) {
  call.list_outputs[0]->clear();
  return PLIANT_OK;
}

pliant_status library_optional_get(LibraryCall& call) {
  const TensorList* list;
  PLIANT_TRY(list_of(call, list));
  *call.list_outputs[0] = *list;
  return PLIANT_OK;
}

pliant_status library_optional_has(LibraryCall& call) {
  PLIANT_TRY(call.require_output(0, DType::Bool, 1));
  *call.outputs[0].data = static_cast<std::byte>(call.list_inputs[0]->is_present());
  return PLIANT_OK;
}

pliant_status library_sequence_length(LibraryCall& call) {
  const TensorList* list;
  PLIANT_TRY(list_of(call, list));
  PLIANT_TRY(call.require_output(0, DType::I64, 1));
  const auto n = static_cast<int64_t>(list->size());
  std::memcpy(call.outputs[0].data, &n, sizeof n);
  return PLIANT_OK;
}

}  // namespace pliant::runtime
