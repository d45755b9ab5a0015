// Functions of the runtime that programs call by name. One row each in library.def, or list_library.def for those on
// sequences and optionals, each in a file of this folder.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "artifact/dtype.h"
#include "runtime/threads/turns.h"
#include "runtime/values/random_keys.h"
#include "runtime/values/sequence.h"

namespace pliant::runtime {

struct LibraryInput {
  const std::byte* data = nullptr;
  DType dtype = DType::F32;
  std::span<const int64_t> shape;
  int64_t elements = 1;  // the product of the shape; its bytes lie inside the argument
};
struct LibraryOutput {
  std::byte* data = nullptr;
  DType dtype = DType::F32;
  uint64_t capacity = 0;  // bytes
  bool waits = false;     // has its memory when `results` are known: no data yet
};
struct LibraryCall {
  std::span<const LibraryInput> inputs;
  std::span<LibraryOutput> outputs;
  std::span<const int64_t> ints;
  std::span<int64_t> results;
  const char* where = "";
  std::span<const TensorList* const> list_inputs;
  std::span<TensorList* const> list_outputs;
  ListMemory* list_memory = nullptr;
  Arena* workspace = nullptr;
  uint64_t workspace_used = 0;
  StopFlag stop{nullptr};  // nothing may take longer than a turn without a look at it
  RandomKeys* random_keys = nullptr;
  // Gives output `i`, which waits, its memory.
  pliant_status (*place_output)(void* context, size_t i, std::span<const int64_t> results, LibraryOutput& output) = nullptr;
  void* place_context = nullptr;
  // Room for `count` objects until the call returns, 64-byte aligned; null when there is none, or the run is to end (the
  // message is set).
  template <class T>
  T* room(uint64_t count) {
    return static_cast<T*>(room_bytes(count, sizeof(T)));
  }
  // The fault of the model's node, as pliant_run reports it.
  [[gnu::format(printf, 2, 3)]] pliant_status fault(const char* format, ...) const;
  // That output `i` of dtype `dtype` can hold `count` elements. Before anything is written to it, and after `results` are
  // set where its size is among them.
  pliant_status require_output(size_t i, DType dtype, uint64_t count);

 private:
  void* room_bytes(uint64_t count, uint64_t each);
  std::byte* touch(std::byte* begin, std::byte* end) const;
};

// The most inputs or outputs, results, and list registers either way that a row may have.
inline constexpr size_t kMostLibraryArgs = 8, kMostLibraryResults = 32, kMostLibraryLists = 1;
struct LibraryRow {
  std::string_view symbol;
  pliant_status (*function)(LibraryCall& call);
  uint8_t min_inputs, max_inputs, min_outputs, max_outputs, min_ints, max_ints, results;
  uint8_t list_inputs = 0, list_outputs = 0;
};
// Null for a name that is not in the table.
const LibraryRow* find_library_function(std::string_view symbol);

// One axis of a tensor: [outer][axis][inner]. Of an empty tensor outer and inner are 0, so that huge axes beside an empty
// one neither overflow nor are walked.
struct AxisSplit {
  int64_t outer = 1, size = 1, inner = 1;
};
AxisSplit split_at(std::span<const int64_t> shape, int64_t axis);

}  // namespace pliant::runtime
