#include "runtime/vm/state.h"

#include <algorithm>

#include "runtime/load/model.h"

namespace pliant::runtime {

State::State(const Model& model)
    : inputs(model.program.inputs.size()),
      outputs(model.program.outputs.size()),
      lists(model.program.list_count),
      key(model.program.key_slots),
      slots(model.program.slot_count),
      buffers(model.functions[0].buffer_count),
      planned(model.functions[0].epochs.size()),
      results(static_cast<size_t>(model.pool->threads())) {
  for (const FunctionCode& f : model.functions) {
    epochs.emplace_back(f.epochs.size());
    for (size_t e = 0; e < f.epochs.size(); ++e) {
      epochs.back()[e].sizes.resize(f.epochs[e].size());
      epochs.back()[e].offsets.resize(f.epochs[e].size());
    }
  }
  list_memory.blocks = model.blocks;
  entry.code = &model.functions[0];
  entry.lists = lists.data();
  for (uint32_t i = 0; i < entry.code->grow_count; ++i) grows.push_back(take_grow());
  entry.slots = slots.data();
  entry.buffers = buffers.data();
  entry.planned = planned.data();
  entry.grows = grows.data();
  call_pointers.resize(model.most_pointers);
  call_ints.resize(model.most_ints);
  step.pointers.reserve(model.most_pointers);
  step.patches.reserve(model.most_pointers);
  step.ints.reserve(model.most_ints);
  step.ops.reserve(1);
}

State::~State() {
  for (pliant_buffer* block : abandoned_blocks) list_memory.blocks->release(block);
}

GrowBlock* State::take_grow() {
  if (idle_grows.empty()) {
    grow_blocks.push_back(std::make_unique<GrowBlock>());
    idle_grows.reserve(grow_blocks.size());
    return grow_blocks.back().get();
  }
  GrowBlock* block = idle_grows.back();
  idle_grows.pop_back();
  return block;
}

void State::trim() {
  if (StopFlag(stop).is_set()) return;  // giving back gigabytes takes longer than a run may go on: after the next one
  uint64_t kept = 0;
  for (const auto& block : grow_blocks) {
    kept += block->capacity();
    if (kept <= kKeptBytes) continue;
    kept -= block->capacity();
    block->release();
  }
  if (frames.committed() > kKeptBytes) frames.shrink(kKeptBytes);
  // A recursion leaves much more behind than any plan needs.
  if (arena.committed() > kKeptBytes && frames.committed() > 0) arena.shrink(kKeptBytes);
}

Plan& State::find_plan(bool& found) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (int64_t v : key) hash = (hash ^ static_cast<uint64_t>(v)) * 0xff51afd7ed558ccd, hash ^= hash >> 29;
  auto fits = [&](const Plan& p) {
    return p.last_use > 0 && p.hash == hash && p.arena_generation == arena.generation() && p.key == key;
  };
  size_t at = last_;
  if (at >= plans_.size() || !fits(*plans_[at]))
    for (at = 0; at < plans_.size() && !fits(*plans_[at]);) ++at;
  found = at < plans_.size();
  if (!found) {
    if (plans_.size() < kPlans) {
      plans_.push_back(std::make_unique<Plan>());
      at = plans_.size() - 1;
    } else {
      at = static_cast<size_t>(std::min_element(plans_.begin(), plans_.end(),
                                                [](const auto& a, const auto& b) { return a->last_use < b->last_use; }) -
                               plans_.begin());
    }
    plans_[at]->key.assign(key.begin(), key.end());
    plans_[at]->hash = hash;
  }
  last_ = at;
  plans_[at]->last_use = ++uses_;
  return *plans_[at];
}

}  // namespace pliant::runtime
