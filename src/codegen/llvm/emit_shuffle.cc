// Loads in an order of lanes that is known: shuffles of whole vectors of local buffers, and of a run of any other.
#include <algorithm>

#include "codegen/llvm/emitter.h"

namespace pliant::codegen {

using llvm::Value;

namespace {
constexpr size_t kMostShuffled = 4;  // vectors that one load takes its lanes from
}

Value* Emitter::load_shuffled(const BufferState& b, const Index& ix) {
  if (b.buffer->scope != loop::Scope::Local || !ix.terms.empty() || guard_.any()) return nullptr;
  auto* positions = llvm::dyn_cast<llvm::Constant>(wide_lanes(ix));
  if (!positions) return nullptr;
  // The lanes come from a few vectors, each at a multiple of the vector's size.
  std::vector<int64_t> blocks;
  std::vector<std::pair<size_t, int>> from;  // for each lane, which of them and the lane there
  for (int64_t lane = 0; lane < lanes_; ++lane) {
    auto* at = llvm::dyn_cast_or_null<llvm::ConstantInt>(positions->getAggregateElement(static_cast<unsigned>(lane)));
    if (!at || at->getSExtValue() < 0) return nullptr;
    const int64_t block = at->getSExtValue() / lanes_;
    auto found = std::find(blocks.begin(), blocks.end(), block);
    if (found == blocks.end()) {
      if (blocks.size() == kMostShuffled || (block + 1) * lanes_ > b.elements) return nullptr;
      found = blocks.insert(blocks.end(), block);
    }
    from.emplace_back(found - blocks.begin(), static_cast<int>(at->getSExtValue() % lanes_));
  }
  // Two at a time, then those of one pair after the other.
  Value* out = nullptr;
  for (size_t k = 0; k < blocks.size(); k += 2) {
    Value* parts[2];
    const size_t second = std::min(k + 1, blocks.size() - 1);
    for (size_t i = 0; i < 2; ++i) {
      Value* start = hoist_->constant(blocks[i == 0 ? k : second] * lanes_);
      parts[i] = i == 1 && second == k ? parts[0]
                                       : load_vector(b, hoist_->gep(memory_type(b.buffer->dtype), b.base, start), nullptr);
    }
    const int n = static_cast<int>(lanes_);
    std::vector<int> of_pair, of_all;
    for (int lane = 0; lane < n; ++lane) {
      const auto [block, position] = from[static_cast<size_t>(lane)];
      const bool here = block == k || block == second;
      of_pair.push_back(!here ? -1 : block == k ? position : n + position);
      of_all.push_back(here ? n + lane : lane);
    }
    Value* pair = b_.CreateShuffleVector(parts[0], parts[1], of_pair);
    out = out ? b_.CreateShuffleVector(out, pair, of_all) : pair;
  }
  return out;
}

Value* Emitter::load_spread(const BufferState& b, const Index& ix) {
  auto* positions = llvm::dyn_cast_or_null<llvm::Constant>(ix.small);
  if (!positions || ix.step || ix.wide || guard_.any()) return nullptr;
  std::vector<int64_t> at;
  for (int64_t lane = 0; lane < lanes_; ++lane) {
    auto* n = llvm::dyn_cast_or_null<llvm::ConstantInt>(positions->getAggregateElement(static_cast<unsigned>(lane)));
    if (!n) return nullptr;
    at.push_back(n->getSExtValue());
  }
  const auto [low, high] = std::minmax_element(at.begin(), at.end());
  const int64_t span = *high - *low + 1;
  if (span > lanes_) return nullptr;
  auto* run_type = llvm::FixedVectorType::get(memory_type(b.buffer->dtype), static_cast<unsigned>(span));
  auto* run = b_.CreateAlignedLoad(run_type, address(b, {ix.terms, ix.constant + *low}), alignment_of(b));
  annotate(run, b, true);
  std::vector<int> from;
  for (int64_t n : at) from.push_back(static_cast<int>(n - *low));
  return from_memory(b.buffer->dtype, b_.CreateShuffleVector(run, from));
}

}  // namespace pliant::codegen
