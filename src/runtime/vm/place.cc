#include "runtime/vm/place.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/memory/guards.h"
#include "runtime/text.h"

namespace pliant::runtime {

using artifact::BufferDesc;

std::string owner_of(const Model& model, uint32_t buffer) {
  const artifact::Program& p = model.program;
  auto names = [&](const std::vector<artifact::Arg>& args) {
    return std::any_of(args.begin(), args.end(),
                       [&](const artifact::Arg& a) { return a.kind == artifact::Arg::Kind::Buffer && a.index == buffer; });
  };
  for (uint32_t at = p.buffers[buffer].first; at <= p.buffers[buffer].last; ++at) {
    const artifact::Instr& in = p.code[at];
    if (in.op == artifact::Opcode::Call && names(p.calls[in.a].args)) return p.calls[in.a].where;
    if (in.op == artifact::Opcode::Library && names(p.library_calls[in.a].outputs)) return p.library_calls[in.a].where;
    if (in.op == artifact::Opcode::Invoke && names(p.invokes[in.a].results)) return p.invokes[in.a].where;
  }
  return "";
}

namespace {

pliant_status bad_buffer(const Model& model, uint32_t buffer, int64_t bytes) {
  return bad_size(owner_of(model, buffer), "an intermediate tensor", bytes);
}

pliant_status over_limit(const Model& model, const State& state, const Frame& frame, uint32_t epoch) {
  uint32_t largest = 0;
  for (uint32_t b : frame.code->epochs[epoch])
    if (frame.buffers[b].bytes >= frame.buffers[largest].bytes) largest = b;
  return fail(PLIANT_OUT_OF_MEMORY,
              "%s%" PRIu64 " bytes of intermediate tensors pass the memory limit of %" PRIu64
              ": the largest of those needed next has %" PRIu64 " bytes",
              prefix_of(owner_of(model, frame.code->first_buffer + largest)).str(), frame.arena_end, state.budget.limit,
              frame.buffers[largest].bytes);
}

// The buffers of earlier epochs that live together with some of this one's.
void add_neighbours(const Model& model, const Frame& frame, uint32_t epoch, std::vector<Interval>& work) {
  constexpr uint32_t kGroup = FunctionCode::kLivesOfGroup;
  const FunctionCode& code = *frame.code;
  const FunctionCode::Life life = code.lives[epoch];
  for (uint32_t e = 0; e < epoch; ++e) {
    if (e % kGroup == 0 && code.last_of_group[e / kGroup] < life.first) {
      e += kGroup - 1;
      continue;
    }
    if (frame.planned[e] == 0 || code.lives[e].last < life.first || life.last < code.lives[e].first) continue;
    for (uint32_t b : code.epochs[e]) {
      const BufferDesc& desc = model.program.buffers[code.first_buffer + b];
      if (desc.last < life.first || life.last < desc.first) continue;
      work.push_back({frame.buffers[b].bytes, desc.first, desc.last, frame.buffers[b].offset - frame.arena_begin, true});
    }
  }
}

// Among more placed buffers than these, gaps are not looked for: those of the epoch lie above all of them. Else the time of
// many epochs whose buffers all live on would grow with the square of their number and more.
constexpr size_t kMostNeighbours = 512;

// Those that live long lie below the others, so that the next epoch begins where these were.
uint64_t place_by_life(Planner& planner, std::vector<Interval>& work, const std::vector<uint64_t>& sizes) {
  auto [least, most] = std::minmax_element(work.begin(), work.end(), [](auto& a, auto& b) { return a.last < b.last; });
  const uint32_t middle = least->last + (most->last - least->last) / 2;
  for (Interval& v : work)
    if (v.last < middle) v.bytes = 0;
  planner.place(work);
  for (size_t i = 0; i < work.size(); ++i) {
    if (work[i].bytes == sizes[i]) continue;
    work[i].bytes = sizes[i];
    work[i].placed = false;
  }
  return planner.place(work);
}

// Plans from the sizes in `cache`, around the placed buffers of earlier epochs.
void plan(const Model& model, State& state, const Frame& frame, uint32_t epoch, EpochCache& cache) {
  std::vector<Interval>& work = state.planner_work;
  work.clear();
  const std::vector<uint32_t>& ids = frame.code->epochs[epoch];
  auto desc = [&](uint32_t b) -> const BufferDesc& { return model.program.buffers[frame.code->first_buffer + b]; };
  for (size_t i = 0; i < ids.size(); ++i) work.push_back({cache.sizes[i], desc(ids[i]).first, desc(ids[i]).last, 0, false});
  add_neighbours(model, frame, epoch, work);
  uint64_t above = 0;
  if (work.size() - ids.size() > kMostNeighbours) {
    for (size_t i = ids.size(); i < work.size(); ++i) above = std::max(above, work[i].offset + work[i].bytes);
    work.resize(ids.size());
    cache.top = above + place_by_life(state.planner, work, cache.sizes);
  } else {
    cache.top = state.planner.place(work);
  }
  for (size_t i = 0; i < ids.size(); ++i) cache.offsets[i] = above + work[i].offset;
  cache.number = ++state.placements;
}

// Sums of sizes stay below 64 bits, wherever the buffers come to lie.
constexpr uint64_t kMostTogether = uint64_t{1} << 62;

// The sizes that the epoch's buffers need now, multiples of `alignment`.
pliant_status measure(const Model& model, const Frame& frame, uint32_t epoch, std::vector<uint64_t>& sizes,
                      uint64_t alignment) {
  sizes.clear();
  uint64_t total = 0;
  for (uint32_t b : frame.code->epochs[epoch]) {
    const artifact::Int& size = model.program.buffers[frame.code->first_buffer + b].bytes;
    const int64_t bytes = size.is_slot ? frame.slots[size.value] : size.value;
    if (!is_bytes(bytes)) return bad_buffer(model, frame.code->first_buffer + b, bytes);
    sizes.push_back(round_up(static_cast<uint64_t>(bytes), alignment));
    total += sizes.back();
    if (total >= kMostTogether) return bad_buffer(model, frame.code->first_buffer + b, INT64_MAX);
  }
  return PLIANT_OK;
}

// Whether buffers of these sizes may lie where those of the last placement lay without much waste.
bool fits(const std::vector<uint64_t>& sizes, const EpochCache& cache) {
  uint64_t needed = 0, there = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > cache.sizes[i]) return false;
    needed += sizes[i];
    there += cache.sizes[i];
  }
  return there <= needed + needed / 4 + 1024;
}

// Sizes that changed get room to grow, so that an iteration of a loop rarely plans again.
void set_sizes(const std::vector<uint64_t>& sizes, bool exact, EpochCache& cache) {
  for (size_t i = 0; i < sizes.size(); ++i)
    cache.sizes[i] = exact || cache.sizes[i] == sizes[i] ? sizes[i] : round_up(sizes[i] + sizes[i] / 8, kAlignment);
}

// The largest of the frame's buffers that are placed says what the memory is for.
pliant_status no_memory(const Model& model, const Frame& frame, uint32_t epoch) {
  const std::vector<uint32_t>& ids = frame.code->epochs[epoch];
  const auto largest = std::max_element(
      ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) { return frame.buffers[a].bytes < frame.buffers[b].bytes; });
  const std::string owner = largest == ids.end() ? "" : owner_of(model, frame.code->first_buffer + *largest);
  return fail(PLIANT_OUT_OF_MEMORY, "%sno memory for %" PRIu64 " bytes of intermediate tensors", prefix_of(owner).str(),
              frame.arena_end);
}

// Above all that is placed, with zones around each.
pliant_status place_apart(const Model& model, State& state, Frame& frame, uint32_t epoch) {
  std::vector<uint64_t>& sizes = state.planner_sizes;
  PLIANT_TRY(measure(model, frame, epoch, sizes, 1));
  uint64_t top = frame.arena_begin;
  for (uint32_t e = 0; e < epoch; ++e) {
    if (frame.planned[e] == 0) continue;
    for (uint32_t b : frame.code->epochs[e])
      top = std::max(top, frame.buffers[b].offset - Guards::kZone + Guards::room(frame.buffers[b].bytes));
  }
  const std::vector<uint32_t>& ids = frame.code->epochs[epoch];
  for (size_t i = 0; i < ids.size(); ++i) {
    frame.buffers[ids[i]] = {top + Guards::kZone, sizes[i]};
    top += Guards::room(sizes[i]);
  }
  frame.planned[epoch] = ++state.placements;
  frame.planned_end = epoch + 1;
  frame.arena_end = std::max(frame.arena_end, top);
  if (frame.arena_end > kMostBytes) return no_memory(model, frame, epoch);
  if (frame.arena_end > state.budget.arena) {
    if (frame.arena_end - state.budget.arena > state.budget.left()) return over_limit(model, state, frame, epoch);
    state.budget.arena = frame.arena_end;
  }
  return PLIANT_OK;
}

}  // namespace

pliant_status place_epoch(const Model& model, State& state, Frame& frame, uint32_t epoch, bool exact) {
  const std::vector<uint32_t>& ids = frame.code->epochs[epoch];
  EpochCache& cache = state.epochs[frame.function][epoch];
  const uint64_t end = frame.arena_end;
  for (uint32_t e = epoch; e < frame.planned_end; ++e) frame.planned[e] = 0;
  if (model.check_memory) return place_apart(model, state, frame, epoch);
  uint64_t before = 0;
  for (uint32_t e = epoch; e > 0 && before == 0; --e) before = frame.planned[e - 1];
  std::vector<uint64_t>& sizes = state.planner_sizes;
  PLIANT_TRY(measure(model, frame, epoch, sizes, kAlignment));
  const bool follows = cache.number != 0 && cache.before == before;
  if (!follows || !(sizes == cache.sizes || (!exact && fits(sizes, cache)))) {
    set_sizes(sizes, exact || !follows, cache);
    plan(model, state, frame, epoch, cache);
    cache.before = before;
  }
  for (size_t i = 0; i < ids.size(); ++i) frame.buffers[ids[i]] = {frame.arena_begin + cache.offsets[i], cache.sizes[i]};
  frame.planned[epoch] = cache.number;
  frame.planned_end = epoch + 1;
  frame.arena_end = std::max(end, frame.arena_begin + cache.top);
  if (frame.arena_end > kMostBytes) return no_memory(model, frame, epoch);
  if (frame.arena_end > state.budget.arena) {
    if (frame.arena_end - state.budget.arena > state.budget.left()) {
      if (exact) return over_limit(model, state, frame, epoch);
      frame.arena_end = end;
      return place_epoch(model, state, frame, epoch, true);
    }
    state.budget.arena = frame.arena_end;
  }
  return PLIANT_OK;
}

pliant_status commit_arena(const Model& model, State& state, const Frame& frame, uint32_t epoch, bool pinned) {
  return state.arena.commit(frame.arena_end, pinned) == PLIANT_OK ? PLIANT_OK : no_memory(model, frame, epoch);
}

}  // namespace pliant::runtime
