// What one run in flight owns and keeps for the next: arenas, plans, slots.
#pragma once
#include <memory>
#include <vector>

#include "artifact/program.h"
#include "runtime/memory.h"
#include "runtime/plan.h"
#include "runtime/planner.h"

namespace pliant::runtime {

struct Model;

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
// Where the kernels of one slice report; apart, so that threads do not share cache lines.
struct alignas(128) SliceResult {
  int64_t fault_values[8];
  uint32_t status;
};

// The last placement of one epoch, used again while the sizes stay the same.
struct EpochCache {
  std::vector<Interval> before, after;
  uint64_t end = 0;
};

class State {
 public:
  explicit State(const Model& model);

  std::vector<InputView> inputs;
  std::vector<OutputView> outputs;
  std::vector<int64_t> key;    // the run's key-slot values
  std::vector<int64_t> slots;  // after the prefix, the interpreter's
  std::vector<Interval> buffers;
  PreparedList step;  // one instruction after the prefix
  std::vector<SliceResult> results;
  Arena arena, scratch, workspace;
  Planner planner;
  std::vector<Interval> planner_work;
  std::vector<uint32_t> planner_ids;
  std::vector<EpochCache> epochs;       // of the instructions after the prefix
  std::vector<int64_t> default_shapes;  // room for the shapes of inputs that take their default

  // The plan for `key`, or the least recently used one, emptied, to be built.
  Plan& find_plan(bool& found);

 private:
  static constexpr size_t kPlans = 32;
  std::vector<std::unique_ptr<Plan>> plans_;
  size_t last_ = 0;
  uint64_t uses_ = 0;
};

}  // namespace pliant::runtime
