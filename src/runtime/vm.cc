#include "runtime/vm.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/elements.h"
#include "runtime/entry.h"
#include "runtime/prepare.h"
#include "runtime/text.h"

namespace pliant::runtime {
namespace {

using artifact::Instr;
using artifact::Opcode;

// Takes the pool at the first call that can use it and nobody else has it, and keeps it to the end of the run.
class PoolLease {
 public:
  explicit PoolLease(ThreadPool& pool) : pool_(pool) {}
  ~PoolLease() {
    if (held_) pool_.release();
  }
  PoolLease(const PoolLease&) = delete;
  bool hold() { return held_ || (held_ = pool_.try_acquire()); }
  ThreadPool& pool() { return pool_; }

 private:
  ThreadPool& pool_;
  bool held_ = false;
};

struct SliceWork {
  const PreparedOp& op;
  void* const* buffers;
  const int64_t* ints;
  std::byte* scratch;
  SliceResult* results;
};
void run_slice(void* context, int slice, int thread, int64_t begin, int64_t end) {
  const SliceWork& w = *static_cast<SliceWork*>(context);
  SliceResult& r = w.results[slice];
  const artifact::KernelFrame frame{w.buffers, w.ints, w.scratch + static_cast<uint64_t>(thread) * w.op.bytes,
                                    r.fault_values};
  r.status = w.op.function(&frame, begin, end);
}

int64_t wrap(uint64_t v) { return static_cast<int64_t>(v); }
uint64_t bits(int64_t v) { return static_cast<uint64_t>(v); }

// Integer instructions; arithmetic wraps. False for any other.
inline bool run_integer(const Instr& in, int64_t* slots) {
  switch (in.op) {
    case Opcode::LoadImm: slots[in.a] = static_cast<int16_t>(in.b); return true;
    case Opcode::Move: slots[in.a] = slots[in.b]; return true;
    case Opcode::Add: slots[in.a] = wrap(bits(slots[in.b]) + bits(slots[in.c])); return true;
    case Opcode::Sub: slots[in.a] = wrap(bits(slots[in.b]) - bits(slots[in.c])); return true;
    case Opcode::Mul: slots[in.a] = wrap(bits(slots[in.b]) * bits(slots[in.c])); return true;
    case Opcode::Less: slots[in.a] = slots[in.b] < slots[in.c]; return true;
    default: return false;
  }
}

class Run {
 public:
  Run(Model& model, State& state, pliant_output* outputs)
      : model_(model), state_(state), outputs_(outputs), lease_(*model.pool) {}

  pliant_status execute(const pliant_input* inputs, size_t input_count) {
    for (OutputView& v : state_.outputs) v.data = nullptr, v.block = nullptr, v.size.known = false;
    const pliant_status status = run(inputs, input_count);
    finish(status);
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
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      if (!plan.outputs[i].known) continue;
      OutputSize& size = state_.outputs[i].size;
      size.known = true;
      size.bytes = plan.outputs[i].bytes;
      size.shape.assign(plan.outputs[i].shape.begin(), plan.outputs[i].shape.end());
    }
    for (size_t i = 0; i < plan.outputs.size(); ++i)
      if (plan.outputs[i].known) PLIANT_TRY(allocate_output(i));
    apply_patches(plan.prepared);
    if (plan.slices > 1 && lease_.hold()) lease_.pool().warm_up(plan.slices);
    for (const PreparedOp& op : plan.prepared.ops) PLIANT_TRY(execute_op(op, plan.prepared));
    if (model_.program.code[model_.prefix].op != Opcode::Return) return run_tail(plan);
    return PLIANT_OK;
  }

  Resolver resolver(const int64_t* slots, std::vector<Interval>& buffers) {
    return {model_, state_, slots, buffers, model_.pool->threads()};
  }

  // Fills the plan from the key. Building it again is needed when the arena moved after addresses in it had been taken.
  pliant_status build(Plan& plan) {
    do {
      plan.arena_generation = state_.arena.generation();
      PLIANT_TRY(build_once(plan));
    } while (plan.arena_generation != state_.arena.generation());
    uint64_t peak = model_.peak_bytes.load(std::memory_order_relaxed);
    while (peak < plan.arena_bytes && !model_.peak_bytes.compare_exchange_weak(peak, plan.arena_bytes)) {
    }
    return PLIANT_OK;
  }

  pliant_status build_once(Plan& plan) {
    plan.slots.assign(model_.program.slot_count, 0);
    std::copy(state_.key.begin(), state_.key.end(), plan.slots.begin());
    plan.buffers.assign(model_.program.buffers.size(), Interval{});
    plan.prepared.clear();
    plan.arena_bytes = 0;
    plan.slices = 1;
    for (OutputView& v : state_.outputs) v.size.known = false;
    Resolver r = resolver(plan.slots.data(), plan.buffers);
    for (uint32_t at = 0; at < model_.prefix; ++at) {
      const Instr& in = model_.program.code[at];
      switch (in.op) {
        case Opcode::Shape: PLIANT_TRY(run_shape(model_, in.a, plan.slots.data())); break;
        case Opcode::Plan:
          PLIANT_TRY(r.place_epoch(in.a, plan.arena_bytes, nullptr));
          PLIANT_TRY(state_.arena.commit(plan.arena_bytes, false));
          break;
        case Opcode::Call:
          PLIANT_TRY(r.prepare_call(in.a, plan.prepared));
          plan.slices = std::max(plan.slices, plan.prepared.ops.back().slices);
          break;
        case Opcode::Extern: PLIANT_TRY(r.prepare_extern(in.a, plan.prepared)); break;
        case Opcode::Copy: PLIANT_TRY(r.prepare_copy(in.a, plan.prepared)); break;
        default: run_integer(in, plan.slots.data()); break;
      }
    }
    if (model_.program.code[model_.prefix].op == Opcode::Return)
      for (size_t i = 0; i < state_.outputs.size(); ++i) PLIANT_TRY(r.size_output(i));
    plan.outputs.resize(state_.outputs.size());
    for (size_t i = 0; i < plan.outputs.size(); ++i) plan.outputs[i] = state_.outputs[i].size;
    return PLIANT_OK;
  }

  // Interprets from the end of the prefix on. The arena holds live buffers, so it grows in place or not at all.
  pliant_status run_tail(const Plan& plan) {
    std::copy(plan.slots.begin(), plan.slots.end(), state_.slots.begin());
    std::copy(plan.buffers.begin(), plan.buffers.end(), state_.buffers.begin());
    int64_t* slots = state_.slots.data();
    uint64_t end = plan.arena_bytes;
    Resolver r = resolver(slots, state_.buffers);
    const Instr* code = model_.program.code.data();
    for (size_t pc = model_.prefix;;) {
      const Instr& in = code[pc++];
      switch (in.op) {
        case Opcode::Shape: PLIANT_TRY(run_shape(model_, in.a, slots)); break;
        case Opcode::Plan:
          PLIANT_TRY(r.place_epoch(in.a, end, &state_.epochs[in.a]));
          PLIANT_TRY(state_.arena.commit(end, true));
          break;
        case Opcode::Call: PLIANT_TRY(execute_step(r.prepare_call(in.a, cleared_step()))); break;
        case Opcode::Extern: PLIANT_TRY(execute_step(r.prepare_extern(in.a, cleared_step()))); break;
        case Opcode::Copy: PLIANT_TRY(execute_step(r.prepare_copy(in.a, cleared_step()))); break;
        case Opcode::Read: PLIANT_TRY(read(r, model_.program.reads[in.a], slots)); break;
        case Opcode::Jump: pc = in.a; break;
        case Opcode::JumpZero:
          if (slots[in.b] == 0) pc = in.a;
          break;
        case Opcode::Return:
          for (size_t i = 0; i < state_.outputs.size(); ++i) {
            PLIANT_TRY(r.size_output(i));
            PLIANT_TRY(allocate_output(i));
          }
          return PLIANT_OK;
        default: run_integer(in, slots); break;
      }
    }
  }

  PreparedList& cleared_step() {
    state_.step.clear();
    return state_.step;
  }
  pliant_status execute_step(pliant_status prepared) {
    if (prepared != PLIANT_OK) return prepared;
    for (const Patch& p : state_.step.patches)
      if (p.is_output) PLIANT_TRY(allocate_output(p.index));
    apply_patches(state_.step);
    return execute_op(state_.step.ops[0], state_.step);
  }

  pliant_status read(Resolver& r, const artifact::ReadDesc& desc, int64_t* slots) {
    std::byte* p;
    uint64_t bytes;
    bool needs_patch;
    Patch patch;
    PLIANT_TRY(r.resolve(desc.from, "", p, bytes, needs_patch, patch));
    const auto each = static_cast<uint64_t>(byte_size(desc.dtype));
    if (desc.element >= bytes / each)
      return fail(PLIANT_RUN_FAULT, "element %u of a tensor of %" PRIu64 " is needed", desc.element, bytes / each);
    if (patch.is_output && needs_patch) PLIANT_TRY(allocate_output(patch.index));
    if (needs_patch) p = target(patch);
    slots[desc.slot] = read_integer(desc.dtype, p + desc.element * each);
    return PLIANT_OK;
  }

  std::byte* target(const Patch& p) const {
    return (p.is_output ? state_.outputs[p.index].data : const_cast<std::byte*>(state_.inputs[p.index].data)) + p.offset;
  }
  void apply_patches(PreparedList& list) {
    for (const Patch& p : list.patches) list.pointers[p.at] = target(p);
  }

  // Memory for an output whose size is known: the caller's, or a block.
  pliant_status allocate_output(size_t i) {
    OutputView& v = state_.outputs[i];
    if (v.data != nullptr) return PLIANT_OK;
    pliant_output& out = outputs_[i];
    const char* name = model_.program.outputs[i].name.c_str();
    if (out.data != nullptr) {
      if (out.capacity < v.size.bytes)
        return fail(PLIANT_BUFFER_TOO_SMALL,
                    "output \"%s\" needs %" PRIu64 " bytes, shape %s, but the given buffer has %" PRIu64, name, v.size.bytes,
                    shape_text(v.size.shape.data(), v.size.shape.size()).str(), out.capacity);
      if (reinterpret_cast<uintptr_t>(out.data) % kAlignment != 0)
        return fail(PLIANT_INVALID_ARGUMENT, "the buffer given for output \"%s\" is not 64-byte aligned", name);
      v.data = static_cast<std::byte*>(out.data);
      return PLIANT_OK;
    }
    v.block = model_.blocks->allocate(v.size.bytes);
    if (v.block == nullptr)
      return fail(PLIANT_OUT_OF_MEMORY, "no memory for the %" PRIu64 " bytes of output \"%s\"", v.size.bytes, name);
    v.data = static_cast<std::byte*>(v.block->data());
    return PLIANT_OK;
  }

  pliant_status execute_op(const PreparedOp& op, PreparedList& list) {
    std::byte** pointers = list.pointers.data() + op.pointers;
    switch (op.kind) {
      case PreparedOp::Kind::Call: return execute_call(op, list);
      case PreparedOp::Kind::Copy:
        if (op.bytes > 0) std::memmove(pointers[1], pointers[0], op.bytes);
        return PLIANT_OK;
      case PreparedOp::Kind::Extern: return execute_extern(op, list);
    }
    return PLIANT_OK;
  }

  pliant_status execute_call(const PreparedOp& op, PreparedList& list) {
    if (op.tasks == 0) return PLIANT_OK;
    const int slices = op.slices > 1 && lease_.hold() ? std::min(op.slices, lease_.pool().threads_now()) : 1;
    if (op.bytes > 0) PLIANT_TRY(state_.scratch.commit(op.bytes * static_cast<uint64_t>(slices), false));
    SliceWork work{op, reinterpret_cast<void**>(list.pointers.data() + op.pointers), list.ints.data() + op.ints,
                   state_.scratch.base(), state_.results.data()};
    if (slices > 1)
      lease_.pool().run(slices, op.tasks, &run_slice, &work);
    else
      run_slice(&work, 0, 0, 0, op.tasks);
    // The first slice that failed holds the lowest failing task, whatever the number of slices.
    for (int s = 0; s < slices; ++s)
      if (state_.results[static_cast<size_t>(s)].status != 0)
        return kernel_fault(op, state_.results[static_cast<size_t>(s)]);
    return PLIANT_OK;
  }

  pliant_status kernel_fault(const PreparedOp& op, const SliceResult& result) {
    const artifact::CallDesc& call = model_.program.calls[op.index];
    const auto& faults = model_.program.kernels[call.kernel].faults;
    if (result.status > faults.size()) return fail(PLIANT_RUN_FAULT, "%s: fault %u", call.where.c_str(), result.status);
    const artifact::FaultDesc& f = faults[result.status - 1];
    const std::string& where = f.where.empty() ? call.where : f.where;
    return fail(PLIANT_RUN_FAULT, "%s: %s", where.c_str(), fill_message(f.message, result.fault_values).str());
  }

  pliant_status execute_extern(const PreparedOp& op, PreparedList& list) {
    const artifact::ExternDesc& desc = model_.program.externs[op.index];
    ExternInput inputs[kMostExternArgs];
    ExternOutput outputs[kMostExternArgs];
    int64_t results[kMostExternArgs] = {};
    std::byte* const* pointers = list.pointers.data() + op.pointers;
    const int64_t* ints = list.ints.data() + op.ints;
    for (size_t i = 0; i < desc.inputs.size(); ++i) {
      const size_t rank = desc.input_shapes[i].size();
      inputs[i] = {*pointers++, desc.input_dtypes[i], {ints, rank}, 1};
      uint64_t elements = 1;  // may wrap on the way to 0, never otherwise
      for (size_t d = 0; d < rank; ++d) elements *= static_cast<uint64_t>(*ints++);
      inputs[i].elements = static_cast<int64_t>(elements);
    }
    for (size_t i = 0; i < desc.outputs.size(); ++i)
      outputs[i] = {*pointers++, desc.output_dtypes[i], static_cast<uint64_t>(*ints++)};
    ExternCall call;
    call.inputs = {inputs, desc.inputs.size()};
    call.outputs = {outputs, desc.outputs.size()};
    call.ints = {ints, desc.ints.size()};
    call.results = {results, desc.result_slots.size()};
    call.where = desc.where.c_str();
    call.workspace = &state_.workspace;
    PLIANT_TRY(model_.externs[op.index]->function(call));
    for (size_t i = 0; i < desc.result_slots.size(); ++i) state_.slots[desc.result_slots[i]] = results[i];
    return PLIANT_OK;
  }

  // Hands over the outputs, or takes back what was allocated.
  void finish(pliant_status status) {
    for (size_t i = 0; i < state_.outputs.size(); ++i) {
      OutputView& v = state_.outputs[i];
      pliant_output& out = outputs_[i];
      out.dtype = static_cast<int32_t>(model_.program.outputs[i].dtype);
      out.rank = static_cast<int32_t>(model_.program.outputs[i].axes.size());
      if (v.size.known) std::copy(v.size.shape.begin(), v.size.shape.end(), out.shape);
      out.buffer = nullptr;
      if (v.block == nullptr) continue;
      if (status == PLIANT_OK) {
        out.buffer = v.block;
        out.data = v.data;
      } else {
        model_.blocks->release(v.block);
      }
    }
  }

  Model& model_;
  State& state_;
  pliant_output* outputs_;
  PoolLease lease_;
};

}  // namespace

pliant_status run_model(Model& model, const pliant_input* inputs, size_t input_count, pliant_output* outputs) {
  State& state = model.acquire_state();
  const pliant_status status = Run(model, state, outputs).execute(inputs, input_count);
  model.release_state(state);
  model.runs.fetch_add(1, std::memory_order_relaxed);
  return status;
}

}  // namespace pliant::runtime
