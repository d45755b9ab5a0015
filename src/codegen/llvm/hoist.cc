#include "codegen/llvm/hoist.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>

#include "base/result.h"

namespace pliant::codegen {

using llvm::ConstantInt;
using llvm::Value;

namespace {
bool is_int(Value* v, int64_t n) {
  auto* c = llvm::dyn_cast<ConstantInt>(v);
  return c && c->getSExtValue() == n;
}
}  // namespace

void Hoister::enter(llvm::BasicBlock* block) {
  scopes_.back().tail = b_.GetInsertBlock();
  scopes_.emplace_back();
  b_.SetInsertPoint(block);
}

void Hoister::leave(llvm::BasicBlock* resume) {
  for (const Key& k : scopes_.back().keys) known_.erase(k);
  scopes_.pop_back();
  b_.SetInsertPoint(resume);
}

void Hoister::leave_to_sibling(llvm::BasicBlock* block) {
  for (const Key& k : scopes_.back().keys) known_.erase(k);
  scopes_.back() = Scope{};
  b_.SetInsertPoint(block);
}

Value* Hoister::define(Value* v) {
  if (!llvm::isa<llvm::Constant>(v)) levels_[v] = static_cast<unsigned>(scopes_.size() - 1);
  return v;
}

void Hoister::keep_here(Value* v) {
  if (!llvm::isa<llvm::Constant>(v)) levels_.try_emplace(v, level(v));
}

unsigned Hoister::level(Value* v) const {
  if (auto it = levels_.find(v); it != levels_.end()) return it->second;
  return llvm::isa<llvm::Instruction>(v) ? static_cast<unsigned>(scopes_.size() - 1) : 0;
}

void Hoister::remember(Key key, Value* v, unsigned at) {
  if (!llvm::isa<llvm::Constant>(v)) levels_.emplace(v, at);
  PLIANT_CHECK(at < scopes_.size()) << "a value is used outside of the scope that it was made in";
  scopes_[at].keys.push_back(key);
  known_.emplace(std::move(key), v);
}

Value* Hoister::watched(llvm::Intrinsic::ID operation, Value* x, Value* y) {
  if (!watches_) return nullptr;
  PLIANT_CHECK(scopes_.size() == 1) << "an overflow noted in a loop";
  const std::string tag = "watched" + std::to_string(operation);
  Value* both = pure(tag.c_str(), {x, y}, [&] { return b_.CreateBinaryIntrinsic(operation, x, y); });
  // An operation that is shared with an earlier value is noted for each.
  Value* over = pure("over", {both}, [&] { return b_.CreateExtractValue(both, 1); });
  if (noted_.insert(over).second) overflow_ = overflow_ ? b_.CreateOr(overflow_, over) : over;
  return pure("result", {both}, [&] { return b_.CreateExtractValue(both, 0); });
}

Value* Hoister::add(Value* x, Value* y) {
  if (is_int(x, 0)) return y;
  if (is_int(y, 0)) return x;
  if (Value* v = watched(llvm::Intrinsic::sadd_with_overflow, x, y)) return v;
  return pure("add", {x, y}, [&] { return b_.CreateNSWAdd(x, y); });
}

Value* Hoister::sub(Value* x, Value* y) {
  if (is_int(y, 0)) return x;
  if (Value* v = watched(llvm::Intrinsic::ssub_with_overflow, x, y)) return v;
  return pure("sub", {x, y}, [&] { return b_.CreateNSWSub(x, y); });
}

Value* Hoister::mul(Value* x, Value* y) {
  if (is_int(x, 1)) return y;
  if (is_int(y, 1)) return x;
  if (is_int(x, 0) || is_int(y, 0)) return constant(0);
  if (Value* v = watched(llvm::Intrinsic::smul_with_overflow, x, y)) return v;
  return pure("mul", {x, y}, [&] { return b_.CreateNSWMul(x, y); });
}

Value* Hoister::smin(Value* x, Value* y) {
  return pure("smin", {x, y}, [&] { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); });
}

Value* Hoister::smax(Value* x, Value* y) {
  return pure("smax", {x, y}, [&] { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y); });
}

Value* Hoister::safe_divisor(Value* y) {
  auto* bounded = llvm::dyn_cast<llvm::IntrinsicInst>(y);
  const bool is_safe = bounded && bounded->getIntrinsicID() == llvm::Intrinsic::smax && is_int(bounded->getArgOperand(1), 1);
  if (is_safe || llvm::isa<ConstantInt>(y)) return y;
  // LLVM must not see that the divisor is not 0: it moves divisions that cannot trap to their uses, into inner loops.
  Value* bound = smax(y, constant(1));
  if (is_straight_) return bound;
  return pure("opaque", {bound}, [&] {
    auto* type = llvm::FunctionType::get(bound->getType(), {bound->getType()}, false);
    auto* call = b_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", false), {bound});
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    call->addFnAttr(llvm::Attribute::WillReturn);
    return call;
  });
}

Value* Hoister::floordiv(Value* x, Value* y, bool numerator_nonnegative) {
  if (is_int(y, 1)) return x;
  y = safe_divisor(y);
  if (numerator_nonnegative) return pure("udiv", {x, y}, [&] { return b_.CreateUDiv(x, y); });
  return pure("floordiv", {x, y}, [&] {
    // sdiv rounds towards zero: one less where a negative numerator leaves a remainder.
    Value* q = b_.CreateSDiv(x, y);
    Value* r = b_.CreateSub(x, b_.CreateMul(q, y));
    return b_.CreateAdd(q, b_.CreateAShr(r, 63));
  });
}

Value* Hoister::mod(Value* x, Value* y, bool numerator_nonnegative) {
  if (is_int(y, 1)) return constant(0);
  y = safe_divisor(y);
  if (numerator_nonnegative) return pure("urem", {x, y}, [&] { return b_.CreateURem(x, y); });
  return pure("mod", {x, y}, [&] {
    Value* r = b_.CreateSRem(x, y);
    return b_.CreateAdd(r, b_.CreateAnd(b_.CreateAShr(r, 63), y));
  });
}

Value* Hoister::broadcast(Value* x, Value* y) {
  return pure("broadcast", {x, y}, [&] { return b_.CreateSelect(b_.CreateICmpEQ(x, constant(1)), y, x); });
}

Value* Hoister::gep(llvm::Type* element, Value* base, Value* index) {
  if (is_int(index, 0)) return base;
  const std::string tag = "gep" + std::to_string(element->getScalarSizeInBits());
  return pure(tag.c_str(), {base, index}, [&] { return b_.CreateInBoundsGEP(element, base, index); });
}

}  // namespace pliant::codegen
