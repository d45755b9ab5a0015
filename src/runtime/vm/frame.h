// What one call in flight of a function works on: its slots, where its buffers lie, its growable blocks and its operands.
// The entry's frame belongs to the State; those of functions lie on a stack of memory of their own, not the thread's.
#pragma once
#include <cstdint>
#include <vector>

#include "artifact/program.h"
#include "runtime/memory/grow.h"
#include "runtime/values/sequence.h"

namespace pliant::runtime {

// A buffer in the arena.
struct Placement {
  uint64_t offset = 0, bytes = 0;
};
// An argument or result that the caller gave: memory, or a growable block.
struct Operand {
  std::byte* data = nullptr;
  uint64_t bytes = 0;
  GrowBlock* grow = nullptr;
};

// What the runtime knows about the code of a function before it runs.
struct FunctionCode {
  uint32_t first = 0;  // code position
  uint32_t slot_count = 0, grow_count = 0;
  uint32_t first_buffer = 0, buffer_count = 0;
  uint32_t param_count = 0, result_count = 0;
  uint32_t list_count = 0;
  std::vector<std::vector<uint32_t>> epochs;  // the buffers of each epoch, counted from first_buffer
  // The instructions at which some buffer of an epoch lives, and the last of these of kLivesOfGroup epochs in a row.
  struct Life {
    uint32_t first = UINT32_MAX, last = 0;
  };
  static constexpr uint32_t kLivesOfGroup = 64;
  std::vector<Life> lives;
  std::vector<uint32_t> last_of_group;
  uint64_t frame_bytes = 0;
};

struct Frame {
  const FunctionCode* code = nullptr;
  uint32_t function = 0;  // 0: the entry, else 1 + the FunctionDesc's index
  uint32_t invoke = 0;    // the InvokeDesc that made this frame
  uint32_t at = 0;        // where to go on after the call in flight
  Frame* caller = nullptr;
  int64_t* slots = nullptr;
  Placement* buffers = nullptr;
  // For each epoch the number of its placement, 0 where it is not planned. Equal numbers mean equal places of the buffers of
  // that epoch and of those planned before it.
  uint64_t* planned = nullptr;
  uint32_t planned_end = 0;  // none from here on is planned
  GrowBlock** grows = nullptr;
  Operand* params = nullptr;
  Operand* results = nullptr;
  TensorList* lists = nullptr;
  uint64_t arena_begin = 0, arena_end = 0;  // its part of the arena
};

}  // namespace pliant::runtime
