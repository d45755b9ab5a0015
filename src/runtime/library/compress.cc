#include <algorithm>
#include <cinttypes>

#include "runtime/library/bits.h"
#include "runtime/library/copy_rows.h"
#include "runtime/library/library.h"

namespace pliant::runtime {

pliant_status library_compress(LibraryCall& call) {
  const LibraryInput &x = call.inputs[0], &condition = call.inputs[1];
  const int64_t axis = call.ints[0];
  if (axis < -1 || axis >= static_cast<int64_t>(x.shape.size())) return call.fault("axis %" PRId64 " is out of range", axis);
  if (condition.dtype != DType::Bool) return call.fault("the condition is %s but must be bool", name_of(condition.dtype));
  const AxisSplit s = axis < 0 ? AxisSplit{1, x.elements, 1} : split_at(x.shape, axis);
  const int64_t tested = std::min(s.size, condition.elements);
  int64_t beyond = -1;  // the first element that is selected and not there
  PLIANT_TRY(call.stop.in_turns(condition.elements - tested, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = tested + begin; i < tested + end && beyond < 0; ++i)
      if (condition.data[i] != std::byte{0}) beyond = i;
  }));
  if (beyond >= 0) return call.fault("the condition selects element %" PRId64 " of an axis of %" PRId64, beyond, s.size);
  const int64_t word_count = words_for(tested);
  auto* words = call.room<uint64_t>(static_cast<uint64_t>(word_count));
  if (words == nullptr) return PLIANT_OUT_OF_MEMORY;
  int64_t count;
  PLIANT_TRY(mark_nonzero<uint8_t>(call.stop, condition.data, tested, UINT8_MAX, words, count));
  if (!call.results.empty()) call.results[0] = count;
  PLIANT_TRY(call.require_output(0, x.dtype, static_cast<uint64_t>(s.outer * count * s.inner)));
  auto* picked = call.room<int64_t>(static_cast<uint64_t>(count));
  if (picked == nullptr) return PLIANT_OUT_OF_MEMORY;
  int64_t found = 0;
  PLIANT_TRY(call.stop.in_turns(word_count, kWordBits, [&](int64_t begin, int64_t end) {
    for (int64_t w = begin; w < end; ++w) for_each_bit(words[w], [&](int bit) { picked[found++] = w * kWordBits + bit; });
  }));
  const int64_t row = s.inner * byte_size(x.dtype);
  for (int64_t o = 0; o < s.outer; ++o)
    PLIANT_TRY(pick_rows(call.stop, call.outputs[0].data + o * count * row, x.data + o * s.size * row,
                         static_cast<size_t>(row), count, [&](int64_t i) { return picked[i]; }));
  return PLIANT_OK;
}

}  // namespace pliant::runtime
