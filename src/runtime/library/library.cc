#include "runtime/library/library.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace pliant::runtime {

#define PLIANT_EXTERN(name, min_in, max_in, min_out, max_out, min_ints, max_ints, results) \
  pliant_status library_##name(LibraryCall& call);
#include "runtime/library/library.def"
#undef PLIANT_EXTERN
#define PLIANT_LIST_EXTERN(name, min_in, max_in, min_out, max_out, min_ints, max_ints, results, list_in, list_out) \
  pliant_status library_##name(LibraryCall& call);
#include "runtime/library/list_library.def"
#undef PLIANT_LIST_EXTERN

const LibraryRow* find_library_function(std::string_view symbol) {
  static constexpr LibraryRow rows[] = {
#define PLIANT_EXTERN(name, min_in, max_in, min_out, max_out, min_ints, max_ints, results) \
  {#name, &library_##name, min_in, max_in, min_out, max_out, min_ints, max_ints, results},
#include "runtime/library/library.def"
#undef PLIANT_EXTERN
#define PLIANT_LIST_EXTERN(name, min_in, max_in, min_out, max_out, min_ints, max_ints, results, list_in, list_out) \
  {#name, &library_##name, min_in, max_in, min_out, max_out, min_ints, max_ints, results, list_in, list_out},
#include "runtime/library/list_library.def"
#undef PLIANT_LIST_EXTERN
  };
#define PLIANT_EXTERN(name, min_in, max_in, min_out, max_out, min_ints, max_ints, results) \
  static_assert(max_in <= kMostLibraryArgs && max_out <= kMostLibraryArgs && results <= kMostLibraryResults);
#include "runtime/library/library.def"
#undef PLIANT_EXTERN
#define PLIANT_LIST_EXTERN(name, min_in, max_in, min_out, max_out, min_ints, max_ints, results, list_in, list_out) \
  static_assert(max_in <= kMostLibraryArgs && max_out <= kMostLibraryArgs && results <= kMostLibraryResults &&     \
                list_in <= kMostLibraryLists && list_out <= kMostLibraryLists);
#include "runtime/library/list_library.def"
#undef PLIANT_LIST_EXTERN
  for (const LibraryRow& row : rows)
    if (row.symbol == symbol) return &row;
  return nullptr;
}

pliant_status LibraryCall::fault(const char* format, ...) const {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return fail(PLIANT_RUN_FAULT, "%s%s%s", where, where[0] != 0 ? ": " : "", text);
}

pliant_status LibraryCall::require_output(size_t i, DType dtype, uint64_t count) {
  if (outputs[i].dtype != dtype)
    return fault("output %zu is %s but must be %s", i, name_of(outputs[i].dtype), name_of(dtype));
  if (outputs[i].waits) PLIANT_TRY(place_output(place_context, i, results, outputs[i]));
  if (count > outputs[i].capacity / static_cast<uint64_t>(byte_size(dtype)))
    return fault("output %zu has room for %" PRIu64 " bytes but gets %" PRIu64 " elements", i, outputs[i].capacity, count);
  return PLIANT_OK;
}

void* LibraryCall::room_bytes(uint64_t count, uint64_t each) {
  uint64_t bytes;
  const bool overflow = __builtin_mul_overflow(count, each, &bytes) || bytes > (uint64_t{1} << 46);
  const uint64_t had = workspace->committed();
  const uint32_t generation = workspace->generation();
  // The first room may move the empty workspace; later ones find it large enough or grow it in place.
  if (overflow || workspace->commit(workspace_used + bytes + kAlignment, workspace_used > 0) != PLIANT_OK) {
    fault("no memory for %" PRIu64 " temporary values", count);
    return nullptr;
  }
  std::byte* p = workspace->base() + workspace_used;
  workspace_used += round_up(bytes, kAlignment);
  const uint64_t first = workspace->generation() == generation ? had : 0;
  std::byte* const end = workspace->base() + workspace_used;
  std::byte* const reached = touch(workspace->base() + first, end);
  if (reached >= end) return p;
  // What was not reached is not committed: the next call has it before it.
  workspace->shrink(static_cast<uint64_t>(reached - workspace->base()));
  return nullptr;
}

// New pages one after the other: writes that go to many places would meet many of them in one turn, and a huge one can take
// milliseconds. Gives `end` or what lies behind it, or the first byte that was not reached because the run is to end.
std::byte* LibraryCall::touch(std::byte* begin, std::byte* end) const {
  constexpr int64_t kPage = 4096, kWorkOfOnePage = 512;
  std::byte* reached = begin;
  const pliant_status status =
      stop.in_turns((end - begin + kPage - 1) / kPage, kWorkOfOnePage, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) *const_cast<volatile std::byte*>(begin + i * kPage) = std::byte{0};
        reached = begin + last * kPage;
      });
  return status == PLIANT_OK ? std::max(begin, end) : reached;
}

AxisSplit split_at(std::span<const int64_t> shape, int64_t axis) {
  AxisSplit s;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && static_cast<int64_t>(i) != axis) return {0, shape[static_cast<size_t>(axis)], 0};
    if (static_cast<int64_t>(i) == axis) s.size = shape[i];
  }
  if (s.size == 0) return {0, 0, 0};
  for (size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<int64_t>(i) < axis) s.outer *= shape[i];
    if (static_cast<int64_t>(i) > axis) s.inner *= shape[i];
  }
  return s;
}

}  // namespace pliant::runtime
