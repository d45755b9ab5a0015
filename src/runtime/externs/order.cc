#include "runtime/externs/order.h"

namespace pliant::runtime {

pliant_status select_along_axis(ExternCall& call, int64_t axis, int64_t k, bool descending) {
  const ExternInput& x = call.inputs[0];
  const AxisSplit s = split_at(x.shape, axis);
  const auto count = static_cast<uint64_t>(s.outer * k * s.inner);
  PLIANT_TRY(call.require_output(0, x.dtype, count));
  PLIANT_TRY(call.require_output(1, DType::I64, count));
  if (count == 0) return PLIANT_OK;
  auto* keys = call.room<uint64_t>(static_cast<uint64_t>(s.size));
  auto* lane = call.room<Ranked>(static_cast<uint64_t>(s.size));
  if (keys == nullptr || lane == nullptr) return PLIANT_OUT_OF_MEMORY;
  const int64_t each = byte_size(x.dtype);
  std::byte* values = call.outputs[0].data;
  auto* indices = reinterpret_cast<int64_t*>(call.outputs[1].data);
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      const std::byte* first = x.data + (o * s.size * s.inner + i) * each;
      order_keys(x.dtype, first, s.inner, s.size, keys);
      for (int64_t j = 0; j < s.size; ++j) lane[j] = {descending ? ~keys[j] : keys[j], j};
      if (k < s.size) std::nth_element(lane, lane + k, lane + s.size, ranks_before);
      std::sort(lane, lane + k, ranks_before);
      for (int64_t j = 0; j < k; ++j) {
        const int64_t at = (o * k + j) * s.inner + i;
        std::memcpy(values + at * each, first + lane[j].index * s.inner * each, static_cast<size_t>(each));
        indices[at] = lane[j].index;
      }
    }
  }
  return PLIANT_OK;
}

}  // namespace pliant::runtime
