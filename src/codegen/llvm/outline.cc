#include "codegen/llvm/outline.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>

namespace pliant::codegen {

namespace {
constexpr const char* kMark = "pliant.outline";
}

void mark_outlined(llvm::Instruction& back) {
  llvm::LLVMContext& llvm = back.getContext();
  llvm::MDNode* loop = llvm::MDNode::getDistinct(llvm, {nullptr, llvm::MDNode::get(llvm, llvm::MDString::get(llvm, kMark))});
  loop->replaceOperandWith(0, loop);
  back.setMetadata(llvm::LLVMContext::MD_loop, loop);
}

void outline_loops(llvm::Function& f) {
  const auto is_marked = [](const llvm::BasicBlock& b) {
    return b.getTerminator()->hasMetadata(llvm::LLVMContext::MD_loop);
  };
  if (std::none_of(f.begin(), f.end(), is_marked)) return;
  std::vector<std::vector<llvm::BasicBlock*>> regions;
  llvm::DominatorTree dominators(f);
  const llvm::LoopInfo loops(dominators);
  for (llvm::Loop* l : loops.getLoopsInPreorder())
    if (llvm::findOptionMDForLoop(l, kMark) && l->getExitBlock()) regions.emplace_back(l->getBlocks());
  for (const std::vector<llvm::BasicBlock*>& blocks : regions) {
    dominators.recalculate(f);
    const llvm::CodeExtractorAnalysisCache cache(f);
    llvm::CodeExtractor extractor(blocks, &dominators, /*AggregateArgs=*/false, nullptr, nullptr, nullptr,
                                  /*AllowVarArgs=*/false, /*AllowAlloca=*/false, nullptr, {}, "loop");
    if (!extractor.isEligible()) continue;
    if (llvm::Function* own = extractor.extractCodeRegion(cache)) own->addFnAttr(llvm::Attribute::NoInline);
  }
}

}  // namespace pliant::codegen
