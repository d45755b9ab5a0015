// Runs prepared instructions: kernels, over threads where that pays, functions of the runtime, copies.
#pragma once
#include "runtime/load/model.h"

namespace pliant::runtime {

struct CallWork;  // execute.cc

// Lives as long as one run. Takes the pool at the first call that can use it and nobody else has it, and keeps it to the
// end.
class Executor {
 public:
  Executor(Model& model, State& state) : model_(model), state_(state) {}
  ~Executor();
  Executor(const Executor&) = delete;

  // `slots` and `lists` are those of the frame that the instruction belongs to.
  pliant_status execute(const PreparedOp& op, PreparedList& list, int64_t* slots, TensorList* lists);
  pliant_status call(const PreparedOp& op, std::byte* const* pointers, const int64_t* ints);
  void warm_up(int slices);
  // PLIANT_CANCELLED once the run is to end.
  pliant_status poll() const { return __atomic_load_n(state_.stop, __ATOMIC_RELAXED) == 0 ? PLIANT_OK : cancelled(); }

 private:
  bool hold_pool();
  // All tasks of a call, on this thread or on `slices`.
  pliant_status run_here(const CallWork& work);
  pliant_status run_on(int slices, CallWork& work);
  pliant_status kernel_fault(const PreparedOp& op, const ThreadResult& result) const;
  pliant_status call_library(const PreparedOp& op, PreparedList& list, int64_t* slots, TensorList* lists);

  Model& model_;
  State& state_;
  bool holds_pool_ = false;
};

}  // namespace pliant::runtime
