#include "runtime/prepare.h"

#include <algorithm>
#include <cinttypes>

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

// `node "x": ` or nothing.
Text prefix_of(const char* where) {
  Text t;
  if (where[0] != 0) t.add("%s: ", where);
  return t;
}

pliant_status bad_size(const char* where, const char* what, int64_t size) {
  return fail(size < 0 ? PLIANT_RUN_FAULT : PLIANT_OUT_OF_MEMORY, "%s%s of %" PRId64 " bytes is %s", prefix_of(where).str(),
              what, size, size < 0 ? "negative" : "too large");
}

bool is_bytes(int64_t v) { return v >= 0 && static_cast<uint64_t>(v) <= kMostBytes; }

}  // namespace

pliant_status run_shape(const Model& model, uint32_t index, int64_t* slots) {
  if (model.shapes[index] != nullptr) model.shapes[index](slots);
  for (const Check& c : model.program.shape_programs[index].checks) {
    const int64_t a = c.a.is_slot ? slots[c.a.value] : c.a.value, b = c.b.is_slot ? slots[c.b.value] : c.b.value;
    const bool holds = c.kind == Check::Kind::Equal ? a == b : c.kind == Check::Kind::LessEqual ? a <= b : a == 1 || a == b;
    if (holds) continue;
    const int64_t values[] = {a, b};
    return fail(PLIANT_RUN_FAULT, "%s%s", prefix_of(c.where.c_str()).str(), fill_message(c.message, values).str());
  }
  return PLIANT_OK;
}

pliant_status Resolver::size_output(size_t output) {
  OutputSize& size = state.outputs[output].size;
  if (size.known) return PLIANT_OK;
  const artifact::TensorDesc& desc = model.program.outputs[output];
  size.shape.resize(desc.axes.size());
  auto bytes = static_cast<uint64_t>(byte_size(desc.dtype));
  bool empty = false, overflow = false;
  for (size_t i = 0; i < desc.axes.size(); ++i) {
    const int64_t v = value(desc.axes[i].size);
    if (v < 0)
      return fail(PLIANT_RUN_FAULT, "output \"%s\" axis %zu (%s) has the negative size %" PRId64, desc.name.c_str(), i,
                  desc.axes[i].text.c_str(), v);
    size.shape[i] = v;
    empty = empty || v == 0;
    overflow = overflow || __builtin_mul_overflow(bytes, static_cast<uint64_t>(v), &bytes);
  }
  if (empty)
    bytes = 0;
  else if (overflow || bytes > kMostBytes)
    return fail(PLIANT_OUT_OF_MEMORY, "output \"%s\" is too large: shape %s", desc.name.c_str(),
                shape_text(size.shape.data(), size.shape.size()).str());
  size.bytes = bytes;
  size.known = true;
  return PLIANT_OK;
}

pliant_status Resolver::resolve(const Arg& arg, const char* where, std::byte*& address, uint64_t& bytes, bool& needs_patch,
                                Patch& patch) {
  const int64_t offset = value(arg.byte_offset);
  if (!is_bytes(offset)) return bad_size(where, "an offset", offset);
  address = nullptr;
  needs_patch = arg.kind == Arg::Kind::Input || arg.kind == Arg::Kind::Output;
  switch (arg.kind) {
    case Arg::Kind::Input: bytes = state.inputs[arg.index].bytes; break;
    case Arg::Kind::Output:
      PLIANT_TRY(size_output(arg.index));
      bytes = state.outputs[arg.index].size.bytes;
      break;
    case Arg::Kind::Buffer:
      bytes = buffers[arg.index].bytes;
      address = state.arena.base() + buffers[arg.index].offset + offset;
      break;
    case Arg::Kind::Constant: {
      const artifact::ConstantDesc& c = model.program.constants[arg.index];
      bytes = c.bytes;
      // Programs only read constants; arguments of native code have one type for all.
      address = const_cast<std::byte*>(model.constants + c.offset) + offset;
      break;
    }
  }
  if (static_cast<uint64_t>(offset) > bytes)
    return fail(PLIANT_RUN_FAULT, "%san argument begins at byte %" PRId64 " of %" PRIu64, prefix_of(where).str(), offset,
                bytes);
  bytes -= static_cast<uint64_t>(offset);
  if (needs_patch) patch = {0, arg.index, arg.kind == Arg::Kind::Output, static_cast<uint64_t>(offset)};
  return PLIANT_OK;
}

pliant_status Resolver::push_extern_arg(const Arg& arg, const char* where, uint64_t& bytes, PreparedList& list) {
  std::byte* address;
  bool needs_patch;
  Patch patch;
  PLIANT_TRY(resolve(arg, where, address, bytes, needs_patch, patch));
  if (needs_patch) {
    patch.at = static_cast<uint32_t>(list.pointers.size());
    list.patches.push_back(patch);
  }
  list.pointers.push_back(address);
  return PLIANT_OK;
}

pliant_status Resolver::push_arg(const Arg& arg, const char* where, uint64_t least, PreparedList& list) {
  uint64_t bytes;
  PLIANT_TRY(push_extern_arg(arg, where, bytes, list));
  if (bytes < least)
    return fail(PLIANT_RUN_FAULT, "%s%" PRIu64 " bytes are needed where there are %" PRIu64, prefix_of(where).str(), least,
                bytes);
  return PLIANT_OK;
}

pliant_status Resolver::prepare_call(uint32_t call, PreparedList& list) {
  const CallDesc& desc = model.program.calls[call];
  const char* where = desc.where.c_str();
  PreparedOp op;
  op.kind = PreparedOp::Kind::Call;
  op.index = call;
  op.function = model.kernels[desc.kernel];
  op.pointers = static_cast<uint32_t>(list.pointers.size());
  op.ints = static_cast<uint32_t>(list.ints.size());
  for (const Arg& a : desc.args) PLIANT_TRY(push_arg(a, where, 0, list));
  for (const Int& i : desc.ints) list.ints.push_back(value(i));
  op.tasks = value(desc.tasks);
  if (op.tasks < 0) return fail(PLIANT_RUN_FAULT, "%s%" PRId64 " tasks are to run", prefix_of(where).str(), op.tasks);
  const int64_t scratch = value(desc.scratch), work = value(desc.work);
  if (!is_bytes(scratch)) return bad_size(where, "scratch memory", scratch);
  op.bytes = round_up(static_cast<uint64_t>(scratch), 128);
  const int64_t wanted = std::min({op.tasks, std::max<int64_t>(work, 0) / kWorkOfOneThread + 1, int64_t{threads}});
  op.slices = static_cast<int32_t>(std::max<int64_t>(wanted, 1));
  list.ops.push_back(op);
  return PLIANT_OK;
}

// The list gets, for each input, its address, and as integers its bytes and shape; for each output address and bytes; then
// the call's own integers.
pliant_status Resolver::prepare_extern(uint32_t index, PreparedList& list) {
  const ExternDesc& desc = model.program.externs[index];
  const char* where = desc.where.c_str();
  PreparedOp op;
  op.kind = PreparedOp::Kind::Extern;
  op.index = index;
  op.pointers = static_cast<uint32_t>(list.pointers.size());
  op.ints = static_cast<uint32_t>(list.ints.size());
  uint64_t bytes;
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    PLIANT_TRY(push_extern_arg(desc.inputs[i], where, bytes, list));
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
    PLIANT_TRY(push_extern_arg(a, where, bytes, list));
    list.ints.push_back(static_cast<int64_t>(bytes));
  }
  for (const Int& i : desc.ints) list.ints.push_back(value(i));
  list.ops.push_back(op);
  return PLIANT_OK;
}

pliant_status Resolver::prepare_copy(uint32_t copy, PreparedList& list) {
  const artifact::CopyDesc& desc = model.program.copies[copy];
  const int64_t bytes = value(desc.bytes);
  if (!is_bytes(bytes)) return bad_size("", "a copy", bytes);
  PreparedOp op;
  op.kind = PreparedOp::Kind::Copy;
  op.index = copy;
  op.pointers = static_cast<uint32_t>(list.pointers.size());
  op.bytes = static_cast<uint64_t>(bytes);
  PLIANT_TRY(push_arg(desc.from, "", op.bytes, list));
  PLIANT_TRY(push_arg(desc.to, "", op.bytes, list));
  list.ops.push_back(op);
  return PLIANT_OK;
}

pliant_status Resolver::place_epoch(uint32_t epoch, uint64_t& end, EpochCache* cache) {
  std::vector<Interval>& work = state.planner_work;
  std::vector<uint32_t>& ids = state.planner_ids;
  work.clear();
  ids.clear();
  const auto& descs = model.program.buffers;
  for (uint32_t i = 0; i < descs.size(); ++i) {
    Interval& b = buffers[i];
    if (descs[i].epoch == epoch) {
      const int64_t bytes = value(descs[i].bytes);
      if (!is_bytes(bytes)) return bad_size("", "an intermediate tensor", bytes);
      b = {round_up(static_cast<uint64_t>(bytes), kAlignment), descs[i].first, descs[i].last, 0, false};
    } else if (!b.placed) {
      continue;
    }
    work.push_back(b);
    ids.push_back(i);
  }
  if (cache != nullptr && cache->before == work) {
    work = cache->after;
    end = std::max(end, cache->end);
  } else {
    if (cache != nullptr) cache->before = work;
    const uint64_t top = state.planner.place(work);
    end = std::max(end, top);
    if (cache != nullptr) cache->after = work, cache->end = top;
  }
  if (end > kMostBytes) return fail(PLIANT_OUT_OF_MEMORY, "no memory for %" PRIu64 " bytes of intermediate tensors", end);
  for (size_t i = 0; i < ids.size(); ++i) buffers[ids[i]] = work[i];
  return PLIANT_OK;
}

}  // namespace pliant::runtime
