// Single elements of sequences: put in, taken out, read.
#include <cinttypes>

#include "runtime/library/sequence.h"

namespace pliant::runtime {

pliant_status library_sequence_insert(LibraryCall& call) {
  const TensorList* from;
  PLIANT_TRY(list_of(call, from));
  uint64_t at;
  PLIANT_TRY(find_position(call, from->size(), true, at));
  const LibraryInput& x = call.inputs[0];
  std::byte* data = nullptr;
  TensorRef tensor = call.list_memory->allocate(x.dtype, x.shape, data);
  if (!tensor) return PLIANT_OUT_OF_MEMORY;
  PLIANT_TRY(copy_bytes(data, x.data, tensor->bytes, call.stop));
  TensorList& to = *call.list_outputs[0];
  if (&to != from) to = *from;
  return to.insert(at, std::move(tensor)) ? PLIANT_OK : PLIANT_OUT_OF_MEMORY;
}

pliant_status library_sequence_erase(LibraryCall& call) {
  const TensorList* from;
  PLIANT_TRY(list_of(call, from));
  uint64_t at;
  PLIANT_TRY(find_position(call, from->size(), false, at));
  TensorList& to = *call.list_outputs[0];
  if (&to != from) to = *from;
  return to.erase(at) ? PLIANT_OK : PLIANT_OUT_OF_MEMORY;
}

pliant_status library_sequence_shape(LibraryCall& call) {
  const ListTensor* element;
  PLIANT_TRY(find_element(call, element));
  if (static_cast<int64_t>(element->rank) != call.ints[2])
    return call.fault("the element has %d axes instead of %" PRId64, element->rank, call.ints[2]);
  return give_sizes(call, element->shape(), call.ints.subspan(3));
}

pliant_status library_sequence_at(LibraryCall& call) {
  const ListTensor* element;
  PLIANT_TRY(find_element(call, element));
  const auto sizes = call.ints.subspan(2), shape = element->shape();
  bool same = sizes.size() == shape.size();
  for (size_t k = 0; same && k < sizes.size(); ++k) same = sizes[k] == shape[k];
  if (!same) return call.fault("the element has another shape than the model says");
  PLIANT_TRY(call.require_output(0, element->dtype, element->bytes / static_cast<uint64_t>(byte_size(element->dtype))));
  return copy_bytes(call.outputs[0].data, element->data, element->bytes, call.stop);
}

}  // namespace pliant::runtime
