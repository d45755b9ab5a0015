// Places pure integer (and mask) instructions at the outermost scope that their operands allow and shares equal ones, so
// that index arithmetic leaves inner loops without help from an optimiser.
//
// Scopes nest like the loops and branches of the program. A value belongs to the scope in which it was made and dominates
// every deeper one. An instruction is emitted in the deepest scope of its operands: at the insertion point when that is the
// innermost scope, otherwise before the terminator of the block that leads inwards. What is placed this way may run when the
// program would not have run it, so it must not trap and must not touch memory.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace pliant::codegen {

class Hoister {
 public:
  explicit Hoister(llvm::IRBuilder<>& b) : b_(b), scopes_(1) {}
  // The program has no loops: from here on, divisions may be moved.
  void set_straight() { is_straight_ = true; }

  // Opens a scope in `block`. The current block must be terminated.
  void enter(llvm::BasicBlock* block);
  // Closes the innermost scope and continues its parent in `resume`.
  void leave(llvm::BasicBlock* resume);
  // Closes the innermost scope and opens another below the same parent block, as the two sides of a branch are.
  void leave_to_sibling(llvm::BasicBlock* block);
  // `v` was made in the innermost scope by something else than this class.
  llvm::Value* define(llvm::Value* v);
  // The same for a value that may have been placed further out, which then stays there.
  void keep_here(llvm::Value* v);
  unsigned level(llvm::Value* v) const;

  llvm::Value* constant(int64_t v) const { return b_.getInt64(static_cast<uint64_t>(v)); }
  // From here on, in the outermost scope, notes whether sums, differences and products overflow, or does not any more.
  void watch(bool on) {
    watches_ = on;
    overflow_ = nullptr;
    noted_.clear();
  }
  // Whether one did since then, as an i1; null when none can.
  llvm::Value* overflow() const { return overflow_; }

  // i64 arithmetic without signed overflow.
  llvm::Value* add(llvm::Value* x, llvm::Value* y);
  llvm::Value* sub(llvm::Value* x, llvm::Value* y);
  llvm::Value* mul(llvm::Value* x, llvm::Value* y);
  llvm::Value* smin(llvm::Value* x, llvm::Value* y);
  llvm::Value* smax(llvm::Value* x, llvm::Value* y);
  // Towards minus infinity. A divisor below 1 counts as 1, proved or not: a hoisted division may run where the program would
  // not divide, and an artifact's tables may give integers that nothing computed.
  llvm::Value* floordiv(llvm::Value* x, llvm::Value* y, bool numerator_nonnegative);
  llvm::Value* mod(llvm::Value* x, llvm::Value* y, bool numerator_nonnegative);
  // y where x is 1, else x.
  llvm::Value* broadcast(llvm::Value* x, llvm::Value* y);
  // Address of element `index` of `base`.
  llvm::Value* gep(llvm::Type* element, llvm::Value* base, llvm::Value* index);

  // The width of the vector loop being emitted, 0 outside: vectors of another width are not shared with it.
  void set_lanes(int64_t lanes) { lanes_ = static_cast<unsigned>(lanes); }

  // Any pure instruction over `operands`. Two calls with one tag and the same operands must make the same value.
  template <class F>
  llvm::Value* pure(const char* tag, std::initializer_list<llvm::Value*> operands, F&& make) {
    Key key{tag, operands};
    auto it = known_.find(key);
    if (it != known_.end() && !fits(it->second)) {  // made for a vector loop of another width
      key.first += "@" + std::to_string(lanes_);
      it = known_.find(key);
    }
    if (it != known_.end()) return it->second;
    unsigned at = 0;
    for (llvm::Value* v : operands) at = std::max(at, level(v));
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    if (at + 1 < scopes_.size()) b_.SetInsertPoint(scopes_[at].tail->getTerminator());
    llvm::Value* v = make();
    remember(std::move(key), v, at);
    return v;
  }

 private:
  using Key = std::pair<std::string, std::vector<llvm::Value*>>;
  struct Scope {
    llvm::BasicBlock* tail = nullptr;  // the block whose terminator leads to the next deeper scope
    std::vector<Key> keys;
  };
  void remember(Key key, llvm::Value* v, unsigned at);
  llvm::Value* safe_divisor(llvm::Value* y);
  // The operation with its overflow noted; null where that is not asked for.
  llvm::Value* watched(llvm::Intrinsic::ID operation, llvm::Value* x, llvm::Value* y);
  bool fits(llvm::Value* v) const {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
    return !vector || lanes_ == 0 || vector->getNumElements() == lanes_;
  }

  unsigned lanes_ = 0;
  bool watches_ = false, is_straight_ = false;
  llvm::Value* overflow_ = nullptr;
  std::set<llvm::Value*> noted_;  // in overflow_
  llvm::IRBuilder<>& b_;
  std::vector<Scope> scopes_;
  std::unordered_map<llvm::Value*, unsigned> levels_;
  std::map<Key, llvm::Value*> known_;  // looked up only, never iterated
};

}  // namespace pliant::codegen
