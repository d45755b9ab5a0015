#include "runtime/vm/vm.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/memory/guards.h"
#include "runtime/memory/outputs.h"
#include "runtime/values/lists.h"
#include "runtime/vm/entry.h"
#include "runtime/vm/interpret.h"
#include "runtime/vm/place.h"

namespace pliant::runtime {
namespace {

using artifact::Instr;
using artifact::Opcode;

class Run {
 public:
  Run(Model& model, State& state) : model_(model), state_(state), executor_(model, state) {}

  pliant_status execute(const pliant_input* inputs, size_t input_count, const RunOptions& options) {
    for (OutputView& v : state_.outputs) v.data = nullptr, v.block = nullptr, v.size.known = false;
    pliant_status status = release_abandoned(state_);
    if (status == PLIANT_OK) status = bind_lists(model_, state_, options.lists, options.list_count);
    if (status == PLIANT_OK) status = run(inputs, input_count);
    const pliant_status given = finish_lists(model_, state_, status == PLIANT_OK ? options.list_outputs : nullptr);
    if (status == PLIANT_OK) status = given;
    finish_outputs(model_, state_, status);
    return status;
  }

 private:
  pliant_status run(const pliant_input* inputs, size_t input_count) {
    PLIANT_TRY(bind_inputs(model_, state_, inputs, input_count));
    bool found;
    Plan& plan = state_.find_plan(found);
    (found ? model_.plan_hits : model_.plan_misses).fetch_add(1, std::memory_order_relaxed);
    if (!found) {
      const pliant_status built = build(plan);
      if (built != PLIANT_OK) {
        plan.last_use = 0;
        return built;
      }
    }
    PLIANT_TRY(check_unbound_axes(model_, state_, plan.slots));
    PLIANT_TRY(take_memory(plan));
    if (model_.check_memory) return run_checked();
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      if (!plan.outputs[i].known) continue;
      OutputSize& size = state_.outputs[i].size;
      size.known = true;
      size.bytes = plan.outputs[i].bytes;
      size.shape.assign(plan.outputs[i].shape.begin(), plan.outputs[i].shape.end());
    }
    for (size_t i = 0; i < plan.outputs.size(); ++i)
      if (plan.outputs[i].known) PLIANT_TRY(allocate_output(model_, state_, i));
    PLIANT_TRY(replay(plan));
    if (model_.program.code[plan.resume].op == Opcode::Return) return PLIANT_OK;
    restore(plan);
    return Interpreter(model_, state_, executor_).run(plan.resume);
  }

  // All of the code is interpreted, one instruction after the other, with zones around all memory.
  pliant_status run_checked() {
    Guards guards(model_, state_);
    state_.guards = &guards;
    start();
    pliant_status status = guards.take_inputs();
    if (status == PLIANT_OK) status = Interpreter(model_, state_, executor_).run(0);
    state_.guards = nullptr;
    return status;
  }

  // The entry's frame before the first instruction.
  void start() {
    std::fill(state_.slots.begin(), state_.slots.end(), 0);
    std::copy(state_.key.begin(), state_.key.end(), state_.slots.begin());
    std::fill(state_.planned.begin(), state_.planned.end(), 0);
    state_.entry.planned_end = 0;
    state_.entry.arena_end = 0;
    for (OutputView& v : state_.outputs) v.size.known = false;
  }

  pliant_status take_memory(const Plan& plan) {
    Budget& budget = state_.budget;
    if (plan.arena_bytes > budget.left() + budget.arena)
      return fail(PLIANT_OUT_OF_MEMORY, "%" PRIu64 " bytes of intermediate tensors pass the memory limit of %" PRIu64,
                  plan.arena_bytes, budget.limit);
    budget.arena = plan.arena_bytes;
    return state_.arena.commit(plan.arena_bytes, true);
  }

  pliant_status replay(Plan& plan) {
    PreparedList& list = plan.prepared;
    for (const Patch& p : list.patches)
      list.pointers[p.at] =
          (p.is_output ? state_.outputs[p.index].data : const_cast<std::byte*>(state_.inputs[p.index].data)) + p.offset;
    executor_.warm_up(plan.slices);
    for (const PreparedOp& op : list.ops) {
      pliant_status status = executor_.poll();
      if (status == PLIANT_OK) status = executor_.execute(op, list, plan.slots.data(), state_.lists.data());
      if (status == PLIANT_OK) continue;
      state_.entry.slots = plan.slots.data();
      explain(status, model_, state_.entry, op.at);
      state_.entry.slots = state_.slots.data();
      return status;
    }
    return PLIANT_OK;
  }

  void restore(const Plan& plan) {
    std::copy(plan.slots.begin(), plan.slots.end(), state_.slots.begin());
    std::copy(plan.buffers.begin(), plan.buffers.end(), state_.buffers.begin());
    std::copy(plan.planned.begin(), plan.planned.end(), state_.planned.begin());
    state_.entry.planned_end = static_cast<uint32_t>(plan.planned.size());
    state_.entry.arena_end = plan.arena_bytes;
  }

  // Fills the plan from the key. Building it again is needed when the arena moved after addresses in it had been taken.
  pliant_status build(Plan& plan) {
    uint32_t at = 0;
    do {
      plan.arena_generation = state_.arena.generation();
      const pliant_status status = build_once(plan, at);
      if (status != PLIANT_OK) return explain(status, model_, state_.entry, at);
    } while (plan.arena_generation != state_.arena.generation());
    plan.resume = at;
    plan.arena_bytes = state_.entry.arena_end;
    plan.slots.assign(state_.slots.begin(), state_.slots.end());
    plan.buffers.assign(state_.buffers.begin(), state_.buffers.end());
    plan.planned.assign(state_.planned.begin(), state_.planned.end());
    plan.outputs.resize(state_.outputs.size());
    for (size_t i = 0; i < plan.outputs.size(); ++i) plan.outputs[i] = state_.outputs[i].size;
    return PLIANT_OK;
  }

  // Follows the code until the first instruction that depends on more than the key, or goes back: `at`.
  pliant_status build_once(Plan& plan, uint32_t& at) {
    Frame& frame = state_.entry;
    start();
    plan.prepared.clear();
    plan.slices = 1;
    Resolver r(model_, state_, Resolver::For::Plan);
    r.frame = &frame;
    const std::vector<Instr>& code = model_.program.code;
    const int64_t* slots = state_.slots.data();
    for (at = 0;;) {
      const Instr& in = code[at];
      uint32_t next = at + 1;
      switch (in.op) {
        case Opcode::Shape: PLIANT_TRY(run_shape(model_, in.a, state_.slots.data())); break;
        case Opcode::Plan:
          PLIANT_TRY(place_epoch(model_, state_, frame, in.a, true));
          PLIANT_TRY(commit_arena(model_, state_, frame, in.a, false));
          break;
        case Opcode::Call:
          PLIANT_TRY(r.prepare_call(in.a, plan.prepared));
          plan.slices = std::max(plan.slices, plan.prepared.ops.back().slices);
          plan.prepared.ops.back().at = at;
          break;
        case Opcode::Library:
          if (!model_.program.library_calls[in.a].result_slots.empty()) return PLIANT_OK;
          PLIANT_TRY(r.prepare_library_call(in.a, plan.prepared));
          plan.prepared.ops.back().at = at;
          break;
        case Opcode::Copy: PLIANT_TRY(r.prepare_copy(in.a, plan.prepared)); break;
        case Opcode::Jump: next = in.a; break;
        case Opcode::JumpZero: next = slots[in.b] == 0 ? in.a : next; break;
        case Opcode::JumpNotLess: next = slots[in.b] >= slots[in.c] ? in.a : next; break;
        case Opcode::Fail: return run_fail(model_, in.a, slots);
        case Opcode::Return:
          for (size_t i = 0; i < state_.outputs.size(); ++i) PLIANT_TRY(size_output(model_, state_, i, slots));
          return PLIANT_OK;
        case Opcode::Read:
        case Opcode::Reserve:
        case Opcode::Invoke:
        case Opcode::Next: return PLIANT_OK;
        default: run_integer(in, state_.slots.data()); break;
      }
      if (next <= at) return PLIANT_OK;
      at = next;
    }
  }

  Model& model_;
  State& state_;
  Executor executor_;
};

}  // namespace

pliant_status run_model(Model& model, const pliant_input* inputs, size_t input_count, pliant_output* outputs,
                        const RunOptions& options) {
  State& state = model.acquire_state(options.stop);
  state.given_outputs = outputs;
  state.budget = {};
  state.budget.limit = options.memory_limit;
  state.random_keys = {options.seed != nullptr ? *options.seed : fresh_seed()};
  const pliant_status status = Run(model, state).execute(inputs, input_count, options);
  uint64_t peak = model.peak_bytes.load(std::memory_order_relaxed);
  while (peak < state.budget.arena && !model.peak_bytes.compare_exchange_weak(peak, state.budget.arena)) {
  }
  model.release_state(state);
  model.runs.fetch_add(1, std::memory_order_relaxed);
  return status;
}

}  // namespace pliant::runtime
