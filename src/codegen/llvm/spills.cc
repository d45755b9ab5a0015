// Spills that the register allocator reports of innermost loops.
#include "codegen/llvm/spills.h"

#include <llvm/CodeGen/MachineDominators.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/MachineOptimizationRemarkEmitter.h>

namespace pliant::codegen {

bool SpillHandler::handleDiagnostics(const llvm::DiagnosticInfo& info) {
  const auto* missed = llvm::dyn_cast<llvm::MachineOptimizationRemarkMissed>(&info);
  if (!missed) return false;
  if (missed->getRemarkName() != "LoopSpillReloadCopies") return true;  // the sums of a function
  const llvm::MachineBasicBlock* header = missed->getBlock();
  llvm::MachineDominatorTree dominators(const_cast<llvm::MachineFunction&>(*header->getParent()));
  const llvm::MachineLoopInfo loops(dominators);
  const llvm::MachineLoop* loop = loops.getLoopFor(header);
  if (!loop || !loop->isInnermost()) return true;
  Spills found{missed->getFunction().getName().split('.').first.str()};  // the kernel of an outlined loop
  for (const auto& arg : missed->getArgs()) {
    int64_t* count = arg.Key == "NumSpills" || arg.Key == "NumFoldedSpills"     ? &found.stores
                     : arg.Key == "NumReloads" || arg.Key == "NumFoldedReloads" ? &found.loads
                                                                                : nullptr;
    if (count) *count += std::stoll(arg.Val);
  }
  if (found.stores + found.loads > 0) spills_.push_back(std::move(found));
  return true;
}

}  // namespace pliant::codegen
