#include <cinttypes>

#include "runtime/externs/order.h"

namespace pliant::runtime {

pliant_status extern_sort(ExternCall& call) {
  const ExternInput& x = call.inputs[0];
  const int64_t axis = call.ints[0];
  if (axis < 0 || axis >= static_cast<int64_t>(x.shape.size())) return call.fault("axis %" PRId64 " is out of range", axis);
  return select_along_axis(call, axis, x.shape[static_cast<size_t>(axis)], call.ints[1] != 0);
}

}  // namespace pliant::runtime
