// The interpreter: instructions one after the other, with jumps, calls of functions and growable blocks.
#pragma once
#include "runtime/vm/execute.h"
#include "runtime/vm/prepare.h"

namespace pliant::runtime {

// Integer instructions; arithmetic wraps. False for any other.
inline bool run_integer(const artifact::Instr& in, int64_t* slots) {
  using artifact::Opcode;
  auto wrap = [](uint64_t v) { return static_cast<int64_t>(v); };
  auto bits = [&](uint32_t slot) { return static_cast<uint64_t>(slots[slot]); };
  switch (in.op) {
    case Opcode::LoadImm: slots[in.a] = static_cast<int32_t>(in.b); return true;
    case Opcode::Move: slots[in.a] = slots[in.b]; return true;
    case Opcode::Add: slots[in.a] = wrap(bits(in.b) + bits(in.c)); return true;
    case Opcode::AddImm: slots[in.a] = wrap(bits(in.b) + static_cast<uint64_t>(static_cast<int32_t>(in.c))); return true;
    case Opcode::Sub: slots[in.a] = wrap(bits(in.b) - bits(in.c)); return true;
    case Opcode::Mul: slots[in.a] = wrap(bits(in.b) * bits(in.c)); return true;
    case Opcode::Less: slots[in.a] = slots[in.b] < slots[in.c]; return true;
    default: return false;
  }
}

// The message of fail `index`.
pliant_status run_fail(const Model& model, uint32_t index, const int64_t* slots);
// Adds the loops and calls that instruction `at` of `frame` is in to the thread's message.
pliant_status explain(pliant_status status, const Model& model, const Frame& frame, uint32_t at);

// Runs from code position `at` of the entry's frame to the end. The arena holds live buffers, so it grows in place or not at
// all.
class Interpreter {
 public:
  Interpreter(Model& model, State& state, Executor& executor)
      : model_(model), state_(state), executor_(executor), resolver_(model, state, Resolver::For::Now) {}
  pliant_status run(uint32_t at);

 private:
  // Ends after the entry's Return, or at a failure with `at_` and `frame_` where it arose.
  pliant_status run_code();
  // Where memory is checked: what the last instruction did, before the one at `at`.
  pliant_status inspect(uint32_t at);
  pliant_status plan(uint32_t epoch);
  pliant_status call(uint32_t index);
  pliant_status copy(const artifact::CopyDesc& desc);
  pliant_status step(pliant_status prepared);
  pliant_status read(const artifact::ReadDesc& desc);
  pliant_status reserve(const artifact::ReserveDesc& desc);
  pliant_status enter(uint32_t invoke, uint32_t return_to);
  void leave();
  void set_frame(Frame* frame) { frame_ = resolver_.frame = frame; }

  PreparedList& cleared_step() {
    state_.step.clear();
    return state_.step;
  }

  Model& model_;
  State& state_;
  Executor& executor_;
  Resolver resolver_;
  Frame* frame_ = nullptr;
  uint32_t at_ = 0;
  uint32_t done_ = UINT32_MAX;  // the last instruction that ran, where memory is checked
  uint64_t stack_ = 0;          // bytes of state_.frames in use
};

}  // namespace pliant::runtime
