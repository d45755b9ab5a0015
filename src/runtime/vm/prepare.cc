#include "runtime/vm/prepare.h"

#include <algorithm>
#include <cinttypes>

#include "artifact/sized_output.h"
#include "runtime/memory/outputs.h"
#include "runtime/text.h"

namespace pliant::runtime {
namespace {

using artifact::Arg;
using artifact::CallDesc;
using artifact::Check;
using artifact::Int;
using artifact::LibraryCallDesc;

// In scalar operations. A thread more pays for its wake-up from about this much on; a chunk is worth the taking, and so many
// make up for a thread that starts late or loses its CPU.
constexpr int64_t kWorkOfOneThread = 32768;
constexpr int64_t kWorkOfOneChunk = 131072;
constexpr int64_t kChunksOfOneThread = 16;
// What a thread does at most before it looks whether the run is to end: some milliseconds, of cheap operations.
constexpr int64_t kWorkOfOneTurn = int64_t{1} << 24;

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

}  // namespace

Text prefix_of(const std::string& where) {
  Text t;
  if (!where.empty()) t.add("%s: ", where.c_str());
  return t;
}

bool is_bytes(int64_t v) { return v >= 0 && static_cast<uint64_t>(v) <= kMostBytes; }

pliant_status bad_size(const std::string& where, const char* what, int64_t size) {
  if (size == INT64_MAX)
    return fail(PLIANT_OUT_OF_MEMORY, "%s%s is too large: its bytes are more than 64 bits can count", prefix_of(where).str(),
                what);
  return fail(size < 0 ? PLIANT_RUN_FAULT : PLIANT_OUT_OF_MEMORY, "%s%s of %" PRId64 " bytes is %s", prefix_of(where).str(),
              what, size, size < 0 ? "negative" : "too large");
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

pliant_status Resolver::bad_offset(const char* where, int64_t offset, uint64_t bytes) {
  if (!is_bytes(offset)) return bad_size(where, "an offset", offset);
  return fail(PLIANT_RUN_FAULT, "%san argument begins at byte %" PRId64 " of %" PRIu64, prefix_of(where).str(), offset,
              bytes);
}

void Resolver::add_patch(const Arg& arg, uint32_t at, PreparedList& list) {
  if (use_ == For::Plan && (arg.kind == Arg::Kind::Input || arg.kind == Arg::Kind::Output))
    list.patches.push_back({at, arg.index, arg.kind == Arg::Kind::Output, static_cast<uint64_t>(value(arg.byte_offset))});
}

pliant_status Resolver::push_arg(const Arg& arg, const char* where, PreparedList& list, uint64_t& bytes) {
  Place place;
  PLIANT_TRY(locate(arg, where, place));
  add_patch(arg, static_cast<uint32_t>(list.pointers.size()), list);
  list.pointers.push_back(place.data);
  bytes = place.bytes;
  return PLIANT_OK;
}

pliant_status Resolver::resolve_call(uint32_t call, PreparedOp& op, std::byte** pointers, int64_t* ints) {
  const CallDesc& desc = model_.program.calls[call];
  const char* where = desc.where.c_str();
  op.kind = PreparedOp::Kind::Call;
  op.index = call;
  op.function = model_.kernels[desc.kernel];
  for (const Arg& a : desc.args) {
    Place place;
    PLIANT_TRY(locate(a, where, place));
    *pointers++ = place.data;
  }
  for (const Int& i : desc.ints) *ints++ = value(i);
  op.tasks = value(desc.tasks);
  if (op.tasks < 0 || static_cast<uint64_t>(op.tasks) > kMostBytes)
    return fail(PLIANT_RUN_FAULT, "%s%" PRId64 " tasks are to run", prefix_of(where).str(), op.tasks);
  uint64_t scratch = 0;
  state_.scratch_pieces.clear();
  for (const Int& piece : desc.scratch) {
    const int64_t bytes = value(piece);
    if (!is_bytes(bytes)) return bad_size(where, "scratch memory", bytes);
    scratch += round_up(static_cast<uint64_t>(bytes), kAlignment);
    if (scratch > kMostBytes) return bad_size(where, "scratch memory", static_cast<int64_t>(scratch));
    if (model_.check_memory) state_.scratch_pieces.push_back(static_cast<uint64_t>(bytes));
  }
  op.bytes = round_up(scratch, 128);
  const int64_t work = value(desc.work);
  op.slices = 1;
  const int64_t turn = work > kWorkOfOneTurn && op.tasks > 1
                           ? std::max<int64_t>(kWorkOfOneTurn / ceil_div(work, op.tasks), 1)
                           : std::max<int64_t>(op.tasks, 1);
  op.grain = turn;
  if (work >= kWorkOfOneThread && op.tasks > 1 && threads_ > 1) {
    op.slices = static_cast<int32_t>(std::min({op.tasks, work / kWorkOfOneThread + 1, int64_t{threads_}}));
    op.grain = std::max(ceil_div(op.tasks, op.slices * kChunksOfOneThread), kWorkOfOneChunk / ceil_div(work, op.tasks));
    op.grain = std::min(std::clamp<int64_t>(op.grain, 1, ceil_div(op.tasks, op.slices)), turn);
  }
  return PLIANT_OK;
}

pliant_status Resolver::prepare_call(uint32_t call, PreparedList& list) {
  const CallDesc& desc = model_.program.calls[call];
  PreparedOp op;
  op.pointers = static_cast<uint32_t>(list.pointers.size());
  op.ints = static_cast<uint32_t>(list.ints.size());
  list.pointers.resize(list.pointers.size() + desc.args.size());
  list.ints.resize(list.ints.size() + desc.ints.size());
  PLIANT_TRY(resolve_call(call, op, list.pointers.data() + op.pointers, list.ints.data() + op.ints));
  for (uint32_t k = 0; k < desc.args.size(); ++k) add_patch(desc.args[k], op.pointers + k, list);
  list.ops.push_back(op);
  return PLIANT_OK;
}

// The list gets, for each input, its address, and as integers its bytes and shape; for each output address and bytes; then
// the call's own integers.
pliant_status Resolver::prepare_library_call(uint32_t index, PreparedList& list) {
  const LibraryCallDesc& desc = model_.program.library_calls[index];
  const char* where = desc.where.c_str();
  PreparedOp op;
  op.kind = PreparedOp::Kind::Library;
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
    if (is_sized_by(model_.program.outputs, desc, a)) {  // the function asks for its memory
      list.pointers.push_back(nullptr);
      list.ints.push_back(0);
      continue;
    }
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
