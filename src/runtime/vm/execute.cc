#include "runtime/vm/execute.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>

#include "artifact/sized_output.h"
#include "runtime/memory/guards.h"
#include "runtime/memory/outputs.h"
#include "runtime/text.h"

namespace pliant::runtime {

struct CallWork {
  const PreparedOp& op;
  void* const* buffers;
  const int64_t* ints;
  std::byte* scratch;
  uint64_t scratch_bytes;  // of one thread
  int64_t scratch_gap;     // before, between and behind the pieces
  const int32_t* stop;
  ThreadResult* results;
  std::atomic<int64_t> failed = INT64_MAX;  // the first task of the lowest chunk that failed
};

namespace {

// Every chunk below one that failed runs, whatever the threads: the lowest that fails is always found.
bool run_chunk(void* context, int thread, int64_t begin, int64_t end) {
  CallWork& w = *static_cast<CallWork*>(context);
  int64_t failed = w.failed.load(std::memory_order_relaxed);
  if (begin > failed) return false;
  ThreadResult& r = w.results[thread];
  const artifact::KernelFrame frame{
      w.buffers,     w.ints, w.scratch + static_cast<uint64_t>(thread) * w.scratch_bytes + w.scratch_gap,
      r.trap_values, w.stop, w.scratch_gap};
  const bool stopped = __atomic_load_n(w.stop, __ATOMIC_RELAXED) != 0;
  const uint32_t status = stopped ? artifact::kKernelStopped : w.op.function(&frame, begin, end);
  if (status == 0) return true;
  r.status = status;
  r.task = begin;
  while (begin < failed && !w.failed.compare_exchange_weak(failed, begin, std::memory_order_relaxed)) {
  }
  return false;
}

}  // namespace

Executor::~Executor() {
  if (holds_pool_) model_.pool->release();
}

bool Executor::hold_pool() { return holds_pool_ || (holds_pool_ = model_.pool->try_acquire()); }

void Executor::warm_up(int slices) {
  if (slices > 1 && hold_pool()) model_.pool->warm_up(slices);
}

pliant_status Executor::execute(const PreparedOp& op, PreparedList& list, int64_t* slots, TensorList* lists) {
  switch (op.kind) {
    case PreparedOp::Kind::Call: return call(op, list.pointers.data() + op.pointers, list.ints.data() + op.ints);
    case PreparedOp::Kind::Copy: {
      std::byte** pointers = list.pointers.data() + op.pointers;
      return copy_bytes(pointers[1], pointers[0], op.bytes, StopFlag(state_.stop));
    }
    case PreparedOp::Kind::Library: return call_library(op, list, slots, lists);
  }
  return PLIANT_OK;
}

pliant_status Executor::call(const PreparedOp& op, std::byte* const* pointers, const int64_t* ints) {
  if (op.tasks == 0) return PLIANT_OK;
  const int slices = op.slices > 1 && hold_pool() ? op.slices : 1;
  const bool guarded = state_.guards != nullptr;
  const std::vector<uint64_t>& pieces = state_.scratch_pieces;
  const uint64_t each = guarded ? round_up(Guards::scratch_room(pieces), 128) : op.bytes;
  if (each > 0 && state_.scratch.commit(each * static_cast<uint64_t>(slices), false) != PLIANT_OK)
    return fail(PLIANT_OUT_OF_MEMORY, "%sno memory for %" PRIu64 " bytes of scratch memory",
                prefix_of(model_.program.calls[op.index].where).str(), each * static_cast<uint64_t>(slices));
  CallWork work{op,   reinterpret_cast<void* const*>(pointers),          ints,        state_.scratch.base(),
                each, guarded ? static_cast<int64_t>(Guards::kZone) : 0, state_.stop, state_.results.data()};
  auto scratch_of = [&](int thread) { return work.scratch + static_cast<uint64_t>(thread) * each; };
  for (int t = 0; guarded && t < slices; ++t) Guards::protect_scratch(scratch_of(t), pieces);
  const pliant_status status = slices == 1 ? run_here(work) : run_on(slices, work);
  bool intact = true;
  for (int t = 0; guarded && t < slices; ++t) intact = Guards::release_scratch(scratch_of(t), pieces) && intact;
  if (intact || status != PLIANT_OK) return status;
  const artifact::CallDesc& desc = model_.program.calls[op.index];
  return fail(PLIANT_RUN_FAULT, "%skernel \"%s\" wrote outside a piece of its scratch memory", prefix_of(desc.where).str(),
              model_.program.kernels[desc.kernel].name.c_str());
}

pliant_status Executor::run_here(const CallWork& work) {
  const PreparedOp& op = work.op;
  const artifact::KernelFrame frame{
      work.buffers, work.ints, work.scratch + work.scratch_gap, work.results[0].trap_values, work.stop, work.scratch_gap};
  uint32_t status = op.function(&frame, 0, std::min(op.tasks, op.grain));
  for (int64_t at = op.grain; status == 0 && at < op.tasks; at += op.grain) {
    PLIANT_TRY(poll());
    status = op.function(&frame, at, std::min(op.tasks, at + op.grain));
  }
  if (status == 0) return PLIANT_OK;
  ThreadResult failed = work.results[0];
  failed.status = status;
  return kernel_fault(op, failed);
}

pliant_status Executor::run_on(int slices, CallWork& work) {
  const PreparedOp& op = work.op;
  model_.pool->run(slices, op.tasks, op.grain, &run_chunk, &work);
  const int64_t failed = work.failed.load(std::memory_order_relaxed);
  if (failed == INT64_MAX) return PLIANT_OK;
  ThreadResult lowest{};
  for (int t = 0; t < slices; ++t) {
    ThreadResult& r = work.results[t];
    if (r.status != 0 && r.task == failed) lowest = r;
    r.status = 0;
  }
  return kernel_fault(op, lowest);
}

pliant_status Executor::kernel_fault(const PreparedOp& op, const ThreadResult& result) const {
  if (result.status == artifact::kKernelStopped) return cancelled();
  const artifact::CallDesc& desc = model_.program.calls[op.index];
  const auto& faults = model_.program.kernels[desc.kernel].traps;
  if (result.status > faults.size()) return fail(PLIANT_RUN_FAULT, "%s: fault %u", desc.where.c_str(), result.status);
  const artifact::TrapDesc& f = faults[result.status - 1];
  const std::string& where = f.where.empty() ? desc.where : f.where;
  return fail(PLIANT_RUN_FAULT, "%s: %s", where.c_str(), fill_message(f.message, result.trap_values).str());
}

namespace {

// What a function of the runtime takes for elements of `dtype` must lie as they do; offsets of arguments can be anything.
bool is_aligned(const std::byte* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uint64_t>(byte_size(dtype)) == 0;
}
pliant_status misaligned(const artifact::LibraryCallDesc& desc, const char* what, size_t i) {
  return fail(PLIANT_RUN_FAULT, "%s: %s %zu is not aligned to its elements", desc.where.c_str(), what, i);
}

// Where a call's results go, and outputs that wait for them.
struct Placing {
  Model& model;
  State& state;
  const artifact::LibraryCallDesc& desc;
  int64_t* slots;
};
pliant_status place_output(void* context, size_t i, std::span<const int64_t> results, LibraryOutput& output) {
  auto& [model, state, desc, slots] = *static_cast<Placing*>(context);
  for (size_t k = 0; k < results.size(); ++k) slots[desc.result_slots[k]] = results[k];
  const uint32_t index = desc.outputs[i].index;
  PLIANT_TRY(size_output(model, state, index, slots));
  PLIANT_TRY(allocate_output(model, state, index));
  output.data = state.outputs[index].data;
  output.capacity = state.outputs[index].size.bytes;
  output.waits = false;
  return is_aligned(output.data, output.dtype) ? PLIANT_OK : misaligned(desc, "output", i);
}

}  // namespace

pliant_status Executor::call_library(const PreparedOp& op, PreparedList& list, int64_t* slots, TensorList* lists) {
  const artifact::LibraryCallDesc& desc = model_.program.library_calls[op.index];
  LibraryInput inputs[kMostLibraryArgs];
  LibraryOutput outputs[kMostLibraryArgs];
  int64_t results[kMostLibraryResults] = {};
  const TensorList* list_inputs[kMostLibraryLists];
  TensorList* list_outputs[kMostLibraryLists];
  std::byte* const* pointers = list.pointers.data() + op.pointers;
  const int64_t* ints = list.ints.data() + op.ints;
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    const size_t rank = desc.input_shapes[i].size();
    if (!is_aligned(*pointers, desc.input_dtypes[i])) return misaligned(desc, "input", i);
    inputs[i] = {*pointers++, desc.input_dtypes[i], {ints, rank}, 1};
    uint64_t elements = 1;  // may wrap on the way to 0, never otherwise
    for (size_t d = 0; d < rank; ++d) elements *= static_cast<uint64_t>(*ints++);
    inputs[i].elements = static_cast<int64_t>(elements);
  }
  for (size_t i = 0; i < desc.outputs.size(); ++i) {
    if (!is_aligned(*pointers, desc.output_dtypes[i])) return misaligned(desc, "output", i);
    outputs[i] = {*pointers++, desc.output_dtypes[i], static_cast<uint64_t>(*ints++),
                  is_sized_by(model_.program.outputs, desc, desc.outputs[i])};
  }
  LibraryCall call;
  call.inputs = {inputs, desc.inputs.size()};
  call.outputs = {outputs, desc.outputs.size()};
  call.ints = {ints, desc.ints.size()};
  call.results = {results, desc.result_slots.size()};
  call.where = desc.where.c_str();
  call.workspace = &state_.workspace;
  call.stop = StopFlag(state_.stop);
  call.random_keys = &state_.random_keys;
  Placing placing{model_, state_, desc, slots};
  call.place_output = &place_output;
  call.place_context = &placing;
  for (size_t i = 0; i < desc.list_inputs.size(); ++i) list_inputs[i] = &lists[desc.list_inputs[i]];
  for (size_t i = 0; i < desc.list_outputs.size(); ++i) list_outputs[i] = &lists[desc.list_outputs[i]];
  call.list_inputs = {list_inputs, desc.list_inputs.size()};
  call.list_outputs = {list_outputs, desc.list_outputs.size()};
  call.list_memory = &state_.list_memory;
  state_.list_memory.limit = state_.budget.left() + state_.budget.lists;
  const pliant_status status = model_.library_calls[op.index]->function(call);
  state_.budget.lists = state_.list_memory.used;
  if (status != PLIANT_OK) PLIANT_TRY(poll());  // what an ended call could not have is no fault
  PLIANT_TRY(status);
  for (size_t i = 0; i < desc.result_slots.size(); ++i) slots[desc.result_slots[i]] = results[i];
  return PLIANT_OK;
}

}  // namespace pliant::runtime
