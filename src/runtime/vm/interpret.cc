#include "runtime/vm/interpret.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/memory/guards.h"
#include "runtime/memory/outputs.h"
#include "runtime/text.h"
#include "runtime/threads/turns.h"
#include "runtime/values/elements.h"
#include "runtime/vm/place.h"

namespace pliant::runtime {

using artifact::Arg;
using artifact::Instr;
using artifact::Opcode;

pliant_status run_fail(const Model& model, uint32_t index, const int64_t* slots) {
  const artifact::FailDesc& desc = model.program.fails[index];
  int64_t values[8] = {};
  size_t n = 0;
  for (const artifact::Int& i : desc.values) values[n++] = i.is_slot ? slots[i.value] : i.value;
  return fail(PLIANT_RUN_FAULT, "%s%s", prefix_of(desc.where).str(), fill_message(desc.message, {values, n}).str());
}

pliant_status Interpreter::run(uint32_t at) {
  set_frame(&state_.entry);
  at_ = at;
  const pliant_status status = run_code();
  if (status != PLIANT_OK) {
    explain(status, model_, *frame_, at_);
    for (Frame* f = frame_; f != nullptr; f = f->caller)
      for (uint32_t i = 0; i < f->code->list_count; ++i) state_.abandon(f->lists[i]);
    while (frame_->caller != nullptr) leave();
  }
  return status;
}

pliant_status Interpreter::run_code() {
  const Instr* code = model_.program.code.data();
  int64_t* slots = frame_->slots;
  // Jumps back are where a run can last for ever.
  auto jump = [&](uint32_t& at, uint32_t to) {
    const bool back = to <= at;
    at = to;
    return back ? executor_.poll() : PLIANT_OK;
  };
  for (uint32_t at = at_;;) {
    const Instr in = code[at];
    if (state_.guards != nullptr) PLIANT_TRY(inspect(at));
    at_ = at;
    switch (in.op) {
      case Opcode::Shape: PLIANT_TRY(run_shape(model_, in.a, slots)); break;
      case Opcode::Plan: PLIANT_TRY(plan(in.a)); break;
      case Opcode::Call: PLIANT_TRY(call(in.a)); break;
      case Opcode::Library: PLIANT_TRY(step(resolver_.prepare_library_call(in.a, cleared_step()))); break;
      case Opcode::Copy: PLIANT_TRY(copy(model_.program.copies[in.a])); break;
      case Opcode::Read: PLIANT_TRY(read(model_.program.reads[in.a])); break;
      case Opcode::Reserve: PLIANT_TRY(reserve(model_.program.reserves[in.a])); break;
      case Opcode::Jump: PLIANT_TRY(jump(at, in.a)); continue;
      case Opcode::JumpZero:
        if (slots[in.b] != 0) break;
        PLIANT_TRY(jump(at, in.a));
        continue;
      case Opcode::JumpNotLess:
        if (slots[in.b] < slots[in.c]) break;
        PLIANT_TRY(jump(at, in.a));
        continue;
      case Opcode::Next:
        slots[in.b] = static_cast<int64_t>(static_cast<uint64_t>(slots[in.b]) + 1);
        if (slots[in.b] >= slots[in.c]) break;
        PLIANT_TRY(jump(at, in.a));
        continue;
      case Opcode::Fail: return run_fail(model_, in.a, slots);
      case Opcode::Invoke:
        PLIANT_TRY(executor_.poll());
        PLIANT_TRY(enter(in.a, at + 1));
        slots = frame_->slots;
        at = frame_->code->first;
        continue;
      case Opcode::Return:
        if (frame_->caller != nullptr) {
          leave();
          slots = frame_->slots;
          at = frame_->at;
          continue;
        }
        for (size_t i = 0; i < state_.outputs.size(); ++i) {
          PLIANT_TRY(size_output(model_, state_, i, slots));
          PLIANT_TRY(allocate_output(model_, state_, i));
        }
        return PLIANT_OK;
      default: run_integer(in, slots); break;
    }
    ++at;
  }
}

pliant_status Interpreter::inspect(uint32_t at) {
  if (done_ != UINT32_MAX) PLIANT_TRY(state_.guards->end(*frame_, done_, at));
  state_.guards->begin(*frame_, at);
  done_ = at;
  return PLIANT_OK;
}

pliant_status Interpreter::plan(uint32_t epoch) {
  PLIANT_TRY(place_epoch(model_, state_, *frame_, epoch, false));
  PLIANT_TRY(commit_arena(model_, state_, *frame_, epoch, true));
  if (state_.guards != nullptr) state_.guards->protect_epoch(*frame_, epoch);
  return PLIANT_OK;
}

pliant_status Interpreter::call(uint32_t index) {
  PreparedOp op;
  std::byte** pointers = state_.call_pointers.data();
  int64_t* ints = state_.call_ints.data();
  PLIANT_TRY(resolver_.resolve_call(index, op, pointers, ints));
  return executor_.call(op, pointers, ints);
}

pliant_status Interpreter::copy(const artifact::CopyDesc& desc) {
  Place from, to;
  PLIANT_TRY(resolver_.locate(desc.from, "", from));
  PLIANT_TRY(resolver_.locate(desc.to, "", to));
  const int64_t value = resolver_.value(desc.bytes);
  const auto bytes = static_cast<uint64_t>(value);
  if (bytes > from.bytes || bytes > to.bytes)
    return fail(PLIANT_RUN_FAULT, "a copy needs %" PRId64 " bytes where there are %" PRIu64, value,
                std::min(from.bytes, to.bytes));
  // Scalars, which loops carry, without a call.
  if (bytes == 8)
    std::memcpy(to.data, from.data, 8);
  else if (bytes == 4)
    std::memcpy(to.data, from.data, 4);
  else
    return copy_bytes(to.data, from.data, bytes, StopFlag(state_.stop));
  return PLIANT_OK;
}

pliant_status Interpreter::step(pliant_status prepared) {
  if (prepared != PLIANT_OK) return prepared;
  return executor_.execute(state_.step.ops[0], state_.step, frame_->slots, frame_->lists);
}

pliant_status Interpreter::read(const artifact::ReadDesc& desc) {
  Place from;
  PLIANT_TRY(resolver_.locate(desc.from, desc.where.c_str(), from));
  const auto each = static_cast<uint64_t>(byte_size(desc.dtype));
  if (desc.element >= from.bytes / each)
    return fail(PLIANT_RUN_FAULT, "%selement %u of a tensor of %" PRIu64 " is needed", prefix_of(desc.where).str(),
                desc.element, from.bytes / each);
  frame_->slots[desc.slot] = read_integer(desc.dtype, from.data + desc.element * each);
  return PLIANT_OK;
}

pliant_status Interpreter::reserve(const artifact::ReserveDesc& desc) {
  GrowBlock* block = desc.to.kind == Arg::Kind::Grow ? frame_->grows[desc.to.index] : frame_->results[desc.to.index].grow;
  const int64_t value = resolver_.value(desc.bytes);
  if (block == nullptr) return fail(PLIANT_RUN_FAULT, "%sits result has a fixed size", prefix_of(desc.where).str());
  if (!is_bytes(value)) return bad_size(desc.where, "a tensor", value);
  const auto bytes = static_cast<uint64_t>(value);
  if (bytes <= block->capacity()) return PLIANT_OK;
  Budget& budget = state_.budget;
  budget.grows -= std::min(budget.grows, block->capacity());
  if (bytes > budget.left())
    return fail(PLIANT_OUT_OF_MEMORY, "%sa growing tensor of %" PRIu64 " bytes passes the memory limit of %" PRIu64,
                prefix_of(desc.where).str(), bytes, budget.limit);
  const uint64_t kept = block->capacity();
  const bool made = state_.guards != nullptr ? block->reserve_apart(bytes, Guards::kZone)
                                             : block->reserve(bytes, std::min(budget.left(), kMostBytes));
  if (!made)
    return fail(PLIANT_OUT_OF_MEMORY, "%sno memory for a growing tensor of %" PRIu64 " bytes", prefix_of(desc.where).str(),
                bytes);
  budget.grows += block->capacity();
  if (state_.guards != nullptr) state_.guards->protect_grow(*block, kept);
  return PLIANT_OK;
}

pliant_status Interpreter::enter(uint32_t invoke, uint32_t return_to) {
  const artifact::InvokeDesc& desc = model_.program.invokes[invoke];
  const FunctionCode& f = model_.functions[desc.function + 1];
  Budget& budget = state_.budget;
  const uint64_t end = stack_ + f.frame_bytes;
  if (end > budget.frames) {
    if (end - budget.frames > budget.left())
      return fail(PLIANT_OUT_OF_MEMORY, "%scalls this deep pass the memory limit of %" PRIu64, prefix_of(desc.where).str(),
                  budget.limit);
    budget.frames = end;
  }
  PLIANT_TRY(state_.frames.commit(end, stack_ > 0));
  std::byte* room = state_.frames.base() + stack_;
  std::memset(room, 0, f.frame_bytes);
  auto* callee = new (room) Frame;
  room += sizeof(Frame);
  auto take = [&]<class T>(T*& part, uint64_t count) {
    part = reinterpret_cast<T*>(room);
    room += count * sizeof(T);
  };
  take(callee->slots, f.slot_count);
  take(callee->buffers, f.buffer_count);
  take(callee->planned, f.epochs.size());
  take(callee->grows, f.grow_count);
  take(callee->params, f.param_count);
  take(callee->results, f.result_count);
  take(callee->lists, f.list_count);
  for (size_t i = 0; i < desc.ints.size(); ++i) callee->slots[i] = resolver_.value(desc.ints[i]);
  auto operand = [&](const Arg& a, Operand& to) {
    Place place;
    PLIANT_TRY(resolver_.locate(a, desc.where.c_str(), place));
    to = {place.data, place.bytes, nullptr};
    // What the callee reserves must find the block; a position inside one cannot grow.
    if (resolver_.value(a.byte_offset) != 0) return PLIANT_OK;
    if (a.kind == Arg::Kind::Grow) to.grow = frame_->grows[a.index];
    if (a.kind == Arg::Kind::Result) to.grow = frame_->results[a.index].grow;
    return PLIANT_OK;
  };
  for (size_t i = 0; i < desc.args.size(); ++i) PLIANT_TRY(operand(desc.args[i], callee->params[i]));
  for (size_t i = 0; i < desc.results.size(); ++i) PLIANT_TRY(operand(desc.results[i], callee->results[i]));
  for (uint32_t i = 0; i < f.grow_count; ++i) callee->grows[i] = state_.take_grow();
  for (uint32_t i = 0; i < f.list_count; ++i) new (&callee->lists[i]) TensorList;
  for (const artifact::InvokeDesc::SlotResult& l : desc.list_args) callee->lists[l.to] = frame_->lists[l.from];
  callee->code = &f;
  callee->function = desc.function + 1;
  callee->invoke = invoke;
  callee->caller = frame_;
  callee->arena_begin = callee->arena_end = frame_->arena_end;
  frame_->at = return_to;
  stack_ = end;
  set_frame(callee);
  return PLIANT_OK;
}

void Interpreter::leave() {
  Frame* callee = frame_;
  const artifact::InvokeDesc& desc = model_.program.invokes[callee->invoke];
  for (const artifact::InvokeDesc::SlotResult& r : desc.slot_results) callee->caller->slots[r.to] = callee->slots[r.from];
  for (const artifact::InvokeDesc::SlotResult& l : desc.list_results)
    callee->caller->lists[l.to] = std::move(callee->lists[l.from]);
  for (uint32_t i = 0; i < callee->code->list_count; ++i) callee->lists[i].~TensorList();
  for (uint32_t i = 0; i < callee->code->grow_count; ++i) state_.give_back_grow(callee->grows[i]);
  stack_ -= callee->code->frame_bytes;
  set_frame(callee->caller);
}

}  // namespace pliant::runtime
