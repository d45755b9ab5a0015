// Loads of local buffers in an order of lanes that is known: shuffles of whole vectors.
#include <algorithm>

#include "codegen/llvm/emitter.h"

namespace pliant::codegen {

using llvm::Value;

Value* Emitter::load_shuffled(const BufferState& b, const Index& ix) {
  if (b.buffer->scope != loop::Scope::Local || b.lane_private || !ix.terms.empty() || guard_.any()) return nullptr;
  auto* positions = llvm::dyn_cast<llvm::Constant>(wide_lanes(ix));
  if (!positions) return nullptr;
  // The lanes come from at most two vectors, each at a multiple of the vector's size.
  std::vector<int64_t> blocks;
  std::vector<int> from;
  for (int64_t lane = 0; lane < lanes_; ++lane) {
    auto* at = llvm::dyn_cast_or_null<llvm::ConstantInt>(positions->getAggregateElement(static_cast<unsigned>(lane)));
    if (!at || at->getSExtValue() < 0) return nullptr;
    const int64_t block = at->getSExtValue() / lanes_;
    auto found = std::find(blocks.begin(), blocks.end(), block);
    if (found == blocks.end()) {
      if (blocks.size() == 2 || (block + 1) * lanes_ > b.elements) return nullptr;
      found = blocks.insert(blocks.end(), block);
    }
    from.push_back(static_cast<int>((found - blocks.begin()) * lanes_ + at->getSExtValue() % lanes_));
  }
  std::vector<Value*> parts;
  for (int64_t block : blocks)
    parts.push_back(
        load_vector(b, hoist_->gep(memory_type(b.buffer->dtype), b.base, hoist_->constant(block * lanes_)), nullptr));
  return b_.CreateShuffleVector(parts[0], parts.back(), from);
}

}  // namespace pliant::codegen
