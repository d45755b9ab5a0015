#include <cinttypes>

#include "runtime/library/order.h"
#include "runtime/values/elements.h"

namespace pliant::runtime {

pliant_status library_top_k(LibraryCall& call) {
  const LibraryInput& x = call.inputs[0];
  const int64_t axis = call.ints[0];
  if (axis < 0 || axis >= static_cast<int64_t>(x.shape.size())) return call.fault("axis %" PRId64 " is out of range", axis);
  int64_t k = call.ints.size() > 3 ? call.ints[3] : -1;
  if (call.inputs.size() > 1) {
    const LibraryInput& given = call.inputs[1];
    if (given.elements != 1 || is_float(given.dtype)) return call.fault("k must be one integer");
    k = read_integer(given.dtype, given.data);
  }
  const int64_t size = x.shape[static_cast<size_t>(axis)];
  if (k < 0 || k > size) return call.fault("k is %" PRId64 " but the axis has %" PRId64 " elements", k, size);
  return select_along_axis(call, axis, k, call.ints[1] != 0);
}

}  // namespace pliant::runtime
