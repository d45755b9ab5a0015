// What the register allocator could not keep in registers in innermost loops.
#pragma once
#include <llvm/IR/DiagnosticHandler.h>

#include "codegen/llvm/backend.h"

namespace pliant::codegen {

class SpillHandler : public llvm::DiagnosticHandler {
 public:
  explicit SpillHandler(std::vector<Spills>& spills) : spills_(spills) {}
  bool isMissedOptRemarkEnabled(llvm::StringRef pass) const override { return pass == "regalloc"; }
  bool isAnyRemarkEnabled() const override { return true; }
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override;

 private:
  std::vector<Spills>& spills_;
};

}  // namespace pliant::codegen
