#include "runtime/prepare.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/outputs.h"
#include "runtime/text.h"

namespace pliant::runtime {
namespace {

using artifact::Arg;
using artifact::CallDesc;
using artifact::Check;
using artifact::ExternDesc;
using artifact::Int;

// A thread more pays for its wake-up from about this much work on.
constexpr int64_t kWorkOfOneThread = 32768;

pliant_status bad_size(const char* where, const char* what, int64_t size) {
  return fail(size < 0 ? PLIANT_RUN_FAULT : PLIANT_OUT_OF_MEMORY, "%s%s of %" PRId64 " bytes is %s", prefix_of(where).str(),
              what, size, size < 0 ? "negative" : "too large");
}

bool is_bytes(int64_t v) { return v >= 0 && static_cast<uint64_t>(v) <= kMostBytes; }

}  // namespace

Text prefix_of(const std::string& where) {
  Text t;
  if (!where.empty()) t.add("%s: ", where.c_str());
  return t;
}

pliant_status run_shape(const Model& model, uint32_t index, int64_t* slots) {
  if (model.shapes[index] != nullptr) model.shapes[index](slots);
  for (const Check& c : model.program.shape_programs[index].checks) {
    const int64_t a = c.a.is_slot ? slots[c.a.value] : c.a.value, b = c.b.is_slot ? slots[c.b.value] : c.b.value;
    const bool holds = c.kind == Check::Kind::Equal ? a == b : c.kind == Check::Kind::LessEqual ? a <= b : a == 1 || a == b;
    if (holds) continue;
    const int64_t values[] = {a, b};
    return fail(PLIANT_RUN_FAULT, "%s%s", prefix_of(c.where).str(), fill_message(c.message, values).str());
  }
  return PLIANT_OK;
}

pliant_status Resolver::locate_output(uint32_t output, Place& place) {
  PLIANT_TRY(size_output(model_, state_, output, frame->slots));
  const OutputView& v = state_.outputs[output];
  if (use_ == For::Now) PLIANT_TRY(allocate_output(model_, state_, output));
  place = {use_ == For::Now ? v.data : nullptr, v.size.bytes};
  return PLIANT_OK;
}

pliant_status Resolver::locate(const Arg& arg, const char* where, Place& place) {
  auto operand = [](const Operand& o) {
    return o.grow != nullptr ? Place{o.grow->data(), o.grow->capacity()} : Place{o.data, o.bytes};
  };
  switch (arg.kind) {
    case Arg::Kind::Input:
      // Programs only read inputs and constants; arguments of native code have one type for all.
      place = {use_ == For::Now ? const_cast<std::byte*>(state_.inputs[arg.index].data) : nullptr,
               state_.inputs[arg.index].bytes};
      break;
    case Arg::Kind::Output: PLIANT_TRY(locate_output(arg.index, place)); break;
    case Arg::Kind::Buffer: {
      const Placement& b = frame->buffers[arg.index - frame->code->first_buffer];
      place = {state_.arena.base() + b.offset, b.bytes};
      break;
    }
    case Arg::Kind::Constant: {
      const artifact::ConstantDesc& c = model_.program.constants[arg.index];
      place = {const_cast<std::byte*>(model_.constants + c.offset), c.bytes};
      break;
    }
    case Arg::Kind::Grow: place = {frame->grows[arg.index]->data(), frame->grows[arg.index]->capacity()}; break;
    case Arg::Kind::Param: place = operand(frame->params[arg.index]); break;
    case Arg::Kind::Result: place = operand(frame->results[arg.index]); break;
  }
  const int64_t offset = value(arg.byte_offset);
  if (offset == 0) return PLIANT_OK;
  if (!is_bytes(offset)) return bad_size(where, "an offset", offset);
  if (static_cast<uint64_t>(offset) > place.bytes)
    return fail(PLIANT_RUN_FAULT, "%san argument begins at byte %" PRId64 " of %" PRIu64, prefix_of(where).str(), offset,
                place.bytes);
  place.bytes -= static_cast<uint64_t>(offset);
  if (place.data != nullptr) place.data += offset;
  return PLIANT_OK;
}

pliant_status Resolver::push_arg(const Arg& arg, const char* where, PreparedList& list, uint64_t& bytes) {
  Place place;
  PLIANT_TRY(locate(arg, where, place));
  if (use_ == For::Plan && (arg.kind == Arg::Kind::Input || arg.kind == Arg::Kind::Output))
    list.patches.push_back({static_cast<uint32_t>(list.pointers.size()), arg.index, arg.kind == Arg::Kind::Output,
                            static_cast<uint64_t>(value(arg.byte_offset))});
  list.pointers.push_back(place.data);
  bytes = place.bytes;
  return PLIANT_OK;
}

pliant_status Resolver::prepare_call(uint32_t call, PreparedList& list) {
  const CallDesc& desc = model_.program.calls[call];
  const char* where = desc.where.c_str();
  PreparedOp op;
  op.kind = PreparedOp::Kind::Call;
  op.index = call;
  op.function = model_.kernels[desc.kernel];
  op.pointers = static_cast<uint32_t>(list.pointers.size());
  op.ints = static_cast<uint32_t>(list.ints.size());
  uint64_t bytes;
  for (const Arg& a : desc.args) PLIANT_TRY(push_arg(a, where, list, bytes));
  for (const Int& i : desc.ints) list.ints.push_back(value(i));
  op.tasks = value(desc.tasks);
  if (op.tasks < 0) return fail(PLIANT_RUN_FAULT, "%s%" PRId64 " tasks are to run", prefix_of(where).str(), op.tasks);
  const int64_t scratch = value(desc.scratch), work = value(desc.work);
  if (!is_bytes(scratch)) return bad_size(where, "scratch memory", scratch);
  op.bytes = round_up(static_cast<uint64_t>(scratch), 128);
  const int64_t wanted = std::min({op.tasks, std::max<int64_t>(work, 0) / kWorkOfOneThread + 1, int64_t{threads_}});
  op.slices = static_cast<int32_t>(std::max<int64_t>(wanted, 1));
  list.ops.push_back(op);
  return PLIANT_OK;
}

// The list gets, for each input, its address, and as integers its bytes and shape; for each output address and bytes; then
// the call's own integers.
pliant_status Resolver::prepare_extern(uint32_t index, PreparedList& list) {
  const ExternDesc& desc = model_.program.externs[index];
  const char* where = desc.where.c_str();
  PreparedOp op;
  op.kind = PreparedOp::Kind::Extern;
  op.index = index;
  op.pointers = static_cast<uint32_t>(list.pointers.size());
  op.ints = static_cast<uint32_t>(list.ints.size());
  uint64_t bytes;
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    PLIANT_TRY(push_arg(desc.inputs[i], where, list, bytes));
    auto needed = static_cast<uint64_t>(byte_size(desc.input_dtypes[i]));
    bool empty = false, overflow = false;
    for (const Int& d : desc.input_shapes[i]) {
      const int64_t v = value(d);
      if (v < 0) return fail(PLIANT_RUN_FAULT, "%sinput %zu has the negative size %" PRId64, prefix_of(where).str(), i, v);
      list.ints.push_back(v);
      empty = empty || v == 0;
      overflow = overflow || __builtin_mul_overflow(needed, static_cast<uint64_t>(v), &needed);
    }
    if (!empty && (overflow || needed > bytes))
      return fail(PLIANT_RUN_FAULT, "%sinput %zu is larger than its %" PRIu64 " bytes", prefix_of(where).str(), i, bytes);
  }
  for (const Arg& a : desc.outputs) {
    PLIANT_TRY(push_arg(a, where, list, bytes));
    list.ints.push_back(static_cast<int64_t>(bytes));
  }
  for (const Int& i : desc.ints) list.ints.push_back(value(i));
  list.ops.push_back(op);
  return PLIANT_OK;
}

pliant_status Resolver::prepare_copy(uint32_t copy, PreparedList& list) {
  const artifact::CopyDesc& desc = model_.program.copies[copy];
  const int64_t size = value(desc.bytes);
  if (!is_bytes(size)) return bad_size("", "a copy", size);
  PreparedOp op;
  op.kind = PreparedOp::Kind::Copy;
  op.index = copy;
  op.pointers = static_cast<uint32_t>(list.pointers.size());
  op.bytes = static_cast<uint64_t>(size);
  for (const Arg* a : {&desc.from, &desc.to}) {
    uint64_t bytes;
    PLIANT_TRY(push_arg(*a, "", list, bytes));
    if (bytes < op.bytes)
      return fail(PLIANT_RUN_FAULT, "%" PRIu64 " bytes are needed where there are %" PRIu64, op.bytes, bytes);
  }
  list.ops.push_back(op);
  return PLIANT_OK;
}

}  // namespace pliant::runtime
