// An i64 index as a function of the lane of a vector loop: uniform + lane * step + small + wide. Kept as parts so that the
// common cases (uniform, contiguous, a 32-bit offset from a uniform base) are seen without analysing the expression again.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <vector>

namespace pliant::codegen {

struct Index {
  std::vector<llvm::Value*> terms{};  // uniform i64 values
  int64_t constant = 0;
  llvm::Value* step = nullptr;   // uniform i64
  llvm::Value* small = nullptr;  // <lanes x i32> within [small_lo, small_hi]
  int64_t small_lo = 0, small_hi = 0;
  llvm::Value* wide = nullptr;  // <lanes x i64>

  bool is_uniform() const { return !step && !small && !wide; }
  bool is_const() const { return is_uniform() && terms.empty(); }
  // The step when it is a constant and there is no other varying part.
  bool steps_by(int64_t n) const {
    auto* c = step ? llvm::dyn_cast<llvm::ConstantInt>(step) : nullptr;
    return c && c->getSExtValue() == n && !small && !wide;
  }
};

}  // namespace pliant::codegen
