#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/externs.h"

namespace pliant::runtime {

pliant_status extern_compress(ExternCall& call) {
  const ExternInput &x = call.inputs[0], &condition = call.inputs[1];
  const int64_t axis = call.ints[0];
  if (axis < -1 || axis >= static_cast<int64_t>(x.shape.size())) return call.fault("axis %" PRId64 " is out of range", axis);
  if (condition.dtype != DType::Bool) return call.fault("the condition is %s but must be bool", name_of(condition.dtype));
  const AxisSplit s = axis < 0 ? AxisSplit{1, x.elements, 1} : split_at(x.shape, axis);
  const int64_t tested = std::min(s.size, condition.elements);
  auto keeps = [&](int64_t i) { return condition.data[i] != std::byte{0}; };
  for (int64_t i = tested; i < condition.elements; ++i)
    if (keeps(i)) return call.fault("the condition selects element %" PRId64 " of an axis of %" PRId64, i, s.size);
  int64_t count = 0;
  for (int64_t i = 0; i < tested; ++i) count += keeps(i);
  if (!call.results.empty()) call.results[0] = count;
  PLIANT_TRY(call.require_output(0, x.dtype, static_cast<uint64_t>(s.outer * count * s.inner)));
  const auto row = static_cast<size_t>(s.inner * byte_size(x.dtype));
  std::byte* to = call.outputs[0].data;
  const std::byte* from = x.data;
  for (int64_t o = 0; o < s.outer; ++o, from += static_cast<size_t>(s.size) * row)
    for (int64_t i = 0; i < tested; ++i) {
      if (!keeps(i)) continue;
      std::memcpy(to, from + static_cast<size_t>(i) * row, row);
      to += row;
    }
  return PLIANT_OK;
}

}  // namespace pliant::runtime
