// What one set of key-slot values leads to: the slots, where buffers lie, and every call with its arguments laid out.
#pragma once
#include <cstdint>
#include <vector>

#include "artifact/program.h"
#include "runtime/memory/planner.h"
#include "runtime/vm/frame.h"

namespace pliant::runtime {

// One instruction with its integers and addresses resolved. `pointers` and `ints` are positions in the list that holds it.
struct PreparedOp {
  enum class Kind : uint8_t { Call, Library, Copy };
  Kind kind = Kind::Call;
  int32_t slices = 1;  // Call
  uint32_t index = 0;  // of the CallDesc, LibraryCallDesc or CopyDesc
  uint32_t at = 0;     // code position
  uint32_t pointers = 0;
  uint32_t ints = 0;
  artifact::KernelFn function = nullptr;
  int64_t tasks = 0;
  int64_t grain = 1;   // Call: tasks of a chunk, after which it is asked whether the run is to end
  uint64_t bytes = 0;  // Call: scratch of one thread; Copy: bytes
};
// pointers[at] is the data of an input or output of the run, plus an offset.
struct Patch {
  uint32_t at = 0;
  uint32_t index = 0;
  bool is_output = false;
  uint64_t offset = 0;
};
struct PreparedList {
  std::vector<PreparedOp> ops;
  std::vector<std::byte*> pointers;
  std::vector<int64_t> ints;
  std::vector<Patch> patches;
  void clear() { ops.clear(), pointers.clear(), ints.clear(), patches.clear(); }
};

struct OutputSize {
  bool known = false;
  uint64_t bytes = 0;
  std::vector<int64_t> shape;
};

struct Plan {
  std::vector<int64_t> key;
  uint64_t hash = 0;
  uint64_t last_use = 0;          // 0: holds nothing
  uint32_t arena_generation = 0;  // pointers are into this arena
  // After the prefix: the instructions from the start on that depend on the key alone. `resume` is the first after them.
  uint32_t resume = 0;
  std::vector<int64_t> slots;
  std::vector<Placement> buffers;
  std::vector<uint64_t> planned;
  uint64_t arena_bytes = 0;
  int32_t slices = 1;  // the most of any call
  std::vector<OutputSize> outputs;
  PreparedList prepared;
};

}  // namespace pliant::runtime
