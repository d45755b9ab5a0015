#include "runtime/memory/guards.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/text.h"
#include "runtime/vm/place.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define PLIANT_POISON(address, bytes) __asan_poison_memory_region(address, bytes)
#define PLIANT_UNPOISON(address, bytes) __asan_unpoison_memory_region(address, bytes)
#else
#define PLIANT_POISON(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#define PLIANT_UNPOISON(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#endif

namespace pliant::runtime {
namespace {

using artifact::Opcode;

constexpr uint64_t kZone = Guards::kZone;

std::byte pattern_at(const std::byte* p) {
  return std::byte{reinterpret_cast<uintptr_t>(p) % 4 == 3 ? uint8_t{0x7f} : uint8_t{0xa5}};
}
void fill(std::byte* begin, std::byte* end) {
  for (; begin < end; ++begin) *begin = pattern_at(begin);
}
// The first byte that is not the pattern's; `end` when there is none.
template <class Byte>
Byte* first_change(Byte* begin, Byte* end) {
  while (begin < end && *begin == pattern_at(begin)) ++begin;
  return begin;
}
template <class Byte>
Byte* end_of_zone(Byte* data, uint64_t bytes) {
  return data + round_up(bytes, kAlignment) + kZone;
}

void protect(std::byte* data, uint64_t bytes) {
  std::byte* end = end_of_zone(data, bytes);
  PLIANT_UNPOISON(data - kZone, static_cast<size_t>(end - data + kZone));
  fill(data - kZone, data);
  fill(data + bytes, end);
  PLIANT_POISON(data - kZone, kZone);
  PLIANT_POISON(data + bytes, static_cast<size_t>(end - data - bytes));
}

void release(std::byte* data, uint64_t bytes) {
  PLIANT_UNPOISON(data - kZone, static_cast<size_t>(end_of_zone(data, bytes) - data + kZone));
}

// The distance from the buffer's beginning of the first byte of its zones that changed; nothing when none did.
std::optional<int64_t> find_change(std::byte* data, uint64_t bytes) {
  std::byte* end = end_of_zone(data, bytes);
  release(data, bytes);
  std::byte* before = first_change(data - kZone, data);
  std::byte* behind = first_change(data + bytes, end);
  PLIANT_POISON(data - kZone, kZone);
  PLIANT_POISON(data + bytes, static_cast<size_t>(end - data - bytes));
  if (before < data) return before - data;
  if (behind < end) return behind - data;
  return std::nullopt;
}

}  // namespace

Guards::Guards(Model& model, State& state) : model_(model), state_(state) {
  state.list_memory.guarded = true;
  for (uint32_t b = 0; b < model.program.buffers.size(); ++b) {
    by_first_.emplace(model.program.buffers[b].first, b);
    by_last_.emplace(model.program.buffers[b].last, b);
  }
}

Guards::~Guards() {
  state_.list_memory.guarded = false;
  PLIANT_UNPOISON(state_.arena.base(), state_.arena.committed());
  for (const OutputView& o : state_.outputs)
    if (o.block != nullptr) release(o.data, o.size.bytes);
  for (const auto& block : state_.grow_blocks)
    if (block->data() != nullptr) release(block->data(), block->capacity());
  for (const Region& input : inputs_) release(input.data, input.bytes);
  for (pliant_buffer* block : blocks_) model_.blocks->release(block);
}

pliant_status Guards::take_inputs() {
  for (InputView& input : state_.inputs) {
    if (input.data == nullptr) continue;
    pliant_buffer* block = model_.blocks->allocate(room(input.bytes));
    if (block == nullptr) return fail(PLIANT_OUT_OF_MEMORY, "no memory for a copy of an input");
    blocks_.push_back(block);
    const Region copy{static_cast<std::byte*>(block->data()) + kZone, input.bytes};
    if (copy.bytes > 0) std::memcpy(copy.data, input.data, copy.bytes);
    protect(copy.data, copy.bytes);
    inputs_.push_back(copy);
    input.data = copy.data;
  }
  return PLIANT_OK;
}

void Guards::protect_epoch(const Frame& frame, uint32_t epoch) {
  for (uint32_t b : frame.code->epochs[epoch]) {
    const Region r = region_of(frame.buffers[b]);
    PLIANT_UNPOISON(r.data - kZone, room(r.bytes));
    fill(r.data, r.data + r.bytes);
    protect(r.data, r.bytes);
  }
}

void Guards::protect_output(const OutputView& output) {
  fill(output.data, output.data + output.size.bytes);
  if (output.block != nullptr) protect(output.data, output.size.bytes);
}

void Guards::protect_grow(const GrowBlock& block, uint64_t kept) {
  fill(block.data() + kept, block.data() + block.capacity());
  protect(block.data(), block.capacity());
}

bool Guards::is_placed(const Frame& frame, uint32_t buffer) const {
  const uint32_t first = frame.code->first_buffer;
  return buffer >= first && buffer - first < frame.code->buffer_count &&
         frame.planned[model_.program.buffers[buffer].epoch] != 0 &&
         model_.program.buffers[buffer].epoch < frame.planned_end;
}

void Guards::spoil(const Frame& frame, const std::multimap<uint32_t, uint32_t>& buffers, uint32_t at) {
  for (auto [it, end] = buffers.equal_range(at); it != end; ++it) {
    if (!is_placed(frame, it->second)) continue;
    const Region r = region_of(frame.buffers[it->second - frame.code->first_buffer]);
    fill(r.data, r.data + r.bytes);
  }
}

void Guards::begin(const Frame& frame, uint32_t at) {
  const Opcode op = model_.program.code[at].op;
  if (op == Opcode::Call || op == Opcode::Library || op == Opcode::Copy) spoil(frame, by_first_, at);
}

template <class Describe>
pliant_status Guards::check(const Region& region, uint32_t at, const Describe& describe) const {
  const std::optional<int64_t> change = find_change(region.data, region.bytes);
  if (!change) return PLIANT_OK;
  const auto end = static_cast<int64_t>(region.bytes);
  return fail(PLIANT_RUN_FAULT, "%s wrote outside its buffers: %" PRId64 " bytes %s the %" PRIu64 " bytes of %s",
              name_of(at).c_str(), *change < 0 ? -*change : *change - end, *change < 0 ? "before" : "behind", region.bytes,
              describe().c_str());
}

pliant_status Guards::end(const Frame& frame, uint32_t at, uint32_t next) {
  const Opcode op = model_.program.code[at].op;
  if (op != Opcode::Call && op != Opcode::Library && op != Opcode::Copy && op != Opcode::Invoke && op != Opcode::Return)
    return PLIANT_OK;
  for (uint32_t b = 0; b < frame.code->buffer_count; ++b) {
    const uint32_t buffer = frame.code->first_buffer + b;
    if (is_placed(frame, buffer))
      PLIANT_TRY(
          check(region_of(frame.buffers[b]), at, [&] { return "an intermediate tensor: " + owner_of(model_, buffer); }));
  }
  for (uint32_t k = 0; k < frame.code->grow_count; ++k)
    if (const GrowBlock* block = frame.grows[k]; block->data() != nullptr)
      PLIANT_TRY(check({block->data(), block->capacity()}, at, [] { return std::string("a growing tensor"); }));
  for (size_t i = 0; i < state_.outputs.size(); ++i)
    if (const OutputView& o = state_.outputs[i]; o.block != nullptr)
      PLIANT_TRY(check({o.data, o.size.bytes}, at, [&] { return "output \"" + model_.program.outputs[i].name + "\""; }));
  for (const Region& input : inputs_) PLIANT_TRY(check(input, at, [] { return std::string("an input"); }));
  if (op == Opcode::Library) PLIANT_TRY(check_lists(frame, at));
  if (next > at) spoil(frame, by_last_, at);
  return PLIANT_OK;
}

void Guards::protect_element(std::byte* data, uint64_t bytes) { fill(data, end_of_zone(data, bytes)); }

bool Guards::is_intact(const ListTensor& tensor) {
  const std::byte* end = end_of_zone(tensor.data, tensor.bytes);
  return first_change(tensor.data + tensor.bytes, end) == end;
}

pliant_status Guards::check_lists(const Frame& frame, uint32_t at) const {
  for (uint32_t k = 0; k < frame.code->list_count; ++k)
    for (uint64_t i = 0; i < frame.lists[k].size(); ++i) {
      const ListTensor& tensor = frame.lists[k][i];
      if (tensor.is_borrowed || tensor.account != &state_.list_memory.used || is_intact(tensor)) continue;
      return fail(PLIANT_RUN_FAULT,
                  "%s wrote outside its buffers: behind the %" PRIu64 " bytes of tensor %" PRIu64 " of a list",
                  name_of(at).c_str(), tensor.bytes, i);
    }
  return PLIANT_OK;
}

std::string Guards::name_of(uint32_t at) const {
  const artifact::Program& p = model_.program;
  const artifact::Instr& in = p.code[at];
  switch (in.op) {
    case Opcode::Call:
      return p.calls[in.a].where + (p.calls[in.a].where.empty() ? "" : ": ") + "kernel \"" +
             p.kernels[p.calls[in.a].kernel].name + "\"";
    case Opcode::Library: return p.library_calls[in.a].where + ": function \"" + p.library_calls[in.a].symbol + "\"";
    case Opcode::Copy: return "a copy";
    default: return "the call of a function";
  }
}

uint64_t Guards::scratch_room(std::span<const uint64_t> pieces) {
  uint64_t bytes = kZone;
  for (uint64_t piece : pieces) bytes += round_up(piece, kAlignment) + kZone;
  return bytes;
}

void Guards::protect_scratch(std::byte* base, std::span<const uint64_t> pieces) {
  fill(base, base + scratch_room(pieces));
  for (uint64_t piece : pieces) {
    protect(base + kZone, piece);
    base += kZone + round_up(piece, kAlignment);
  }
}

bool Guards::release_scratch(std::byte* base, std::span<const uint64_t> pieces) {
  bool intact = true;
  std::byte* at = base;
  for (uint64_t piece : pieces) {
    intact = intact && !find_change(at + kZone, piece);
    at += kZone + round_up(piece, kAlignment);
  }
  PLIANT_UNPOISON(base, scratch_room(pieces));
  return intact;
}

}  // namespace pliant::runtime
