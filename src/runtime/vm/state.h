// What one run in flight owns and keeps for the next: arenas, plans, slots.
#pragma once
#include <memory>
#include <vector>

#include "artifact/program.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/planner.h"
#include "runtime/values/random_keys.h"
#include "runtime/values/sequence.h"
#include "runtime/vm/frame.h"
#include "runtime/vm/plan.h"

namespace pliant::runtime {

struct Model;
class Guards;

struct InputView {
  const std::byte* data = nullptr;  // null: not given
  const int64_t* shape = nullptr;
  uint64_t bytes = 0;
};
struct OutputView {
  std::byte* data = nullptr;  // null: not allocated yet
  pliant_buffer* block = nullptr;
  OutputSize size;
};
// Where the kernels of one thread report; apart, so that threads do not share cache lines.
struct alignas(128) ThreadResult {
  int64_t trap_values[8];
  int64_t task;     // the first of the lowest chunk that failed
  uint32_t status;  // 0 between calls
};

// The last placement of one epoch of one function, used again while the sizes and what was placed before stay the same.
struct EpochCache {
  uint64_t before = 0;  // Frame::planned of the epoch planned before
  std::vector<uint64_t> sizes, offsets;
  uint64_t top = 0;     // from the beginning of the frame's part of the arena
  uint64_t number = 0;  // Frame::planned; 0: nothing yet
};
// What one run may use, and uses.
struct Budget {
  uint64_t limit = UINT64_MAX;
  uint64_t arena = 0, frames = 0, grows = 0, outputs = 0, lists = 0;
  uint64_t used() const { return arena + frames + grows + outputs + lists; }
  uint64_t left() const { return limit > used() ? limit - used() : 0; }
};

class State {
 public:
  explicit State(const Model& model);
  ~State();

  std::vector<InputView> inputs;
  std::vector<OutputView> outputs;
  std::vector<TensorList> lists;  // the list registers, all absent between runs
  ListMemory list_memory;
  // What runs that were ended held: taken apart by the next ones, in turns, since that may take longer than a run may go on.
  std::vector<TensorList> abandoned;
  std::vector<pliant_buffer*> abandoned_blocks;  // of outputs
  std::vector<bool> given_lists;                 // by input, while they are bound
  std::vector<int64_t> key;                      // the run's key-slot values
  // The entry's frame, with room for its parts.
  Frame entry;
  std::vector<int64_t> slots;
  std::vector<Placement> buffers;
  std::vector<uint64_t> planned;
  std::vector<GrowBlock*> grows;
  PreparedList step;  // one instruction after the prefix
  std::vector<std::byte*> call_pointers;
  std::vector<int64_t> call_ints;
  std::vector<ThreadResult> results;
  Arena arena, scratch, workspace;
  Arena frames;  // of functions
  std::vector<std::unique_ptr<GrowBlock>> grow_blocks;
  std::vector<GrowBlock*> idle_grows;  // those no frame holds
  pliant_output* given_outputs = nullptr;
  Budget budget;
  // Of the run in flight where memory is checked, and the scratch memory of the call that was resolved last.
  Guards* guards = nullptr;
  std::vector<uint64_t> scratch_pieces;
  RandomKeys random_keys;
  // Not 0 once the run is to end: the caller's flag, or `own_stop`.
  int32_t own_stop = 0;
  int32_t* stop = &own_stop;
  Planner planner;
  std::vector<Interval> planner_work;
  std::vector<uint64_t> planner_sizes;
  std::vector<std::vector<EpochCache>> epochs;  // of each function
  uint64_t placements = 0;                      // numbers given so far
  std::vector<int64_t> default_shapes;          // room for the shapes of inputs that take their default

  // Empties a list of the run: what may take long is put off where the run is to end.
  void abandon(TensorList& list) {
    if (StopFlag(stop).is_set() && list.is_present()) abandoned.push_back(std::move(list));
    list.clear();
  }

  GrowBlock* take_grow();
  void give_back_grow(GrowBlock* block) { idle_grows.push_back(block); }
  // Between runs: keeps what the next run can use, within bounds.
  void trim();

  // The plan for `key`, or the least recently used one, emptied, to be built.
  Plan& find_plan(bool& found);

 private:
  static constexpr size_t kPlans = 32;
  static constexpr uint64_t kKeptBytes = 64u << 20;
  std::vector<std::unique_ptr<Plan>> plans_;
  size_t last_ = 0;
  uint64_t uses_ = 0;
};

}  // namespace pliant::runtime
