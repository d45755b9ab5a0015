// Loops, and the symbols that they and Lets bind. A loop runs at least once when entered: a guard before, the test at the
// end. Looks at the stop flag stand behind what an iteration or a turn does.
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/outline.h"

namespace pliant::codegen {

using expr::Scalar;
using llvm::Value;
using loop::ForKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtPtr;

llvm::Instruction* Emitter::emit_serial_loop(expr::SymbolId var, Value* extent, bool runs_once, const Turn& turn,
                                             const std::function<void()>& body) {
  if (auto* n = llvm::dyn_cast<llvm::ConstantInt>(extent)) {
    if (n->isOne()) bind(var, hoist_->constant(0), body);
    if (n->getSExtValue() <= 1) return nullptr;
    runs_once = true;
  }
  const std::string name = ctx_.info(var).name;
  auto iterate = [&] {
    return emit_iterations(name, hoist_->constant(0), extent, turn, [&](Value* i) { bind(var, i, body); });
  };
  if (runs_once) return iterate();
  auto* some = llvm::BasicBlock::Create(llvm_, name + ".some", function_);
  auto* done = llvm::BasicBlock::Create(llvm_, "done", function_);
  b_.CreateCondBr(b_.CreateICmpSGT(extent, hoist_->constant(0)), some, done);
  hoist_->enter(some);
  llvm::Instruction* back = iterate();
  b_.CreateBr(done);
  hoist_->leave(done);
  return back;
}

// With turns, one loop inside another:
//
//   turn:  first = phi(begin, last); last = min(first + turn, end)
//   loop:  for i in [first, last): the body
//   next:  when last < end: leave when the flag is set, else turn
llvm::Instruction* Emitter::emit_iterations(const std::string& name, Value* begin, Value* end, const Turn& turn,
                                            const std::function<void(Value*)>& body) {
  const bool in_turns = turn.iterations > 1;
  auto* done = llvm::BasicBlock::Create(llvm_, "done", function_);
  llvm::BasicBlock* next_turn = nullptr;
  llvm::PHINode* first = nullptr;
  Value* last = end;
  if (in_turns) {
    Value* iterations = iterations_of(turn);
    next_turn = llvm::BasicBlock::Create(llvm_, name + ".turn", function_);
    b_.CreateBr(next_turn);
    llvm::BasicBlock* from = b_.GetInsertBlock();
    hoist_->enter(next_turn);
    first = b_.CreatePHI(b_.getInt64Ty(), 2, name + ".first");
    hoist_->define(first);
    first->addIncoming(begin, from);
    // Whoever gets as far as where this sum overflows has run 2^62 iterations.
    last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(first, iterations, "", false, true), end);
    hoist_->define(last);
    begin = first;
  }
  auto* loop = llvm::BasicBlock::Create(llvm_, name, function_);
  auto* after = in_turns ? llvm::BasicBlock::Create(llvm_, name + ".next", function_) : done;
  b_.CreateBr(loop);
  llvm::BasicBlock* from = b_.GetInsertBlock();
  hoist_->enter(loop);
  auto* i = b_.CreatePHI(b_.getInt64Ty(), 2, name);
  hoist_->define(i);
  i->addIncoming(begin, from);
  body(i);
  if (turn.iterations == 1) {
    auto* latch = llvm::BasicBlock::Create(llvm_, "latch", function_);
    emit_poll(latch);
    b_.SetInsertPoint(latch);
  }
  Value* next = b_.CreateAdd(i, hoist_->constant(1), "", true, true);
  i->addIncoming(next, b_.GetInsertBlock());
  llvm::Instruction* back = b_.CreateCondBr(b_.CreateICmpSLT(next, last), loop, after);
  hoist_->leave(after);
  if (!in_turns) return back;
  auto* more = llvm::BasicBlock::Create(llvm_, name + ".more", function_);
  b_.CreateCondBr(b_.CreateICmpSLT(last, end), more, done);
  b_.SetInsertPoint(more);
  first->addIncoming(last, more);
  emit_poll(next_turn);
  hoist_->leave(done);
  return back;
}

Turn Emitter::turn_of(const Stmt& s) const {
  const auto found = polls_.loops.find(&s);
  return found == polls_.loops.end() ? Turn{} : found->second;
}

// With a stride of 2^k bytes or more, but less than twice that: kBytesOfOneTurn / 2^k, without a division.
Value* Emitter::iterations_of(const Turn& turn) {
  Value* most = hoist_->constant(turn.iterations);
  if (!turn.stride) return most;
  Value* stride = uniform_dim(turn.stride);
  return hoist_->pure("turn", {stride, most}, [&] {
    Value* zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, stride, b_.getFalse());
    Value* far = b_.CreateLShr(hoist_->constant(kBytesOfOneTurn), b_.CreateSub(hoist_->constant(63), zeros));
    Value* some = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, far, hoist_->constant(1));
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, some, most);
  });
}

void Emitter::emit_poll(llvm::BasicBlock* next) {
  Value* flag = b_.CreateAlignedLoad(b_.getInt32Ty(), stop_, llvm::Align(4), /*isVolatile=*/true);
  Value* goes_on = b_.CreateIsNull(flag);
  if (!stopped_) {
    stopped_ = llvm::BasicBlock::Create(llvm_, "stopped", function_);
    llvm::IRBuilder<>(stopped_).CreateRet(b_.getInt32(artifact::kKernelStopped));
  }
  b_.CreateCondBr(goes_on, next, stopped_, llvm::MDBuilder(llvm_).createBranchWeights(1 << 20, 1));
}

void Emitter::emit_block(const Stmt& s) {
  for (const StmtPtr& child : s.body) {
    if (polls_.before.count(child.get())) {
      auto* next = llvm::BasicBlock::Create(llvm_, "goes_on", function_);
      emit_poll(next);
      b_.SetInsertPoint(next);
    }
    emit(child);
  }
}

void Emitter::emit_for(const Stmt& s) {
  if (s.for_kind == ForKind::Vector) return emit_vector_for(s);
  if (s.for_kind == ForKind::Tensor) return emit_tensor(s);
  if (s.for_kind == ForKind::Unroll && opt_level_ > 0 && s.extent.is_const()) {
    for (int64_t i = 0; i < s.extent.const_value(); ++i) bind(s.var, hoist_->constant(i), [&] { emit(s.body[0]); });
    return;
  }
  clear_memo();  // the extent may read memory
  llvm::Instruction* back =
      emit_serial_loop(s.var, uniform_dim(s.extent), ctx_.range(s.extent).lo >= 1, turn_of(s), [&] { emit(s.body[0]); });
  if (back && s.for_kind == ForKind::Outline) mark_outlined(*back);
}

void Emitter::emit_let(const Stmt& s) {
  clear_memo();
  Value* v = uniform_dim(s.extent);
  hoist_->keep_here(v);
  clear_memo();  // the value was read once; the body may write what it was read from
  bind(s.var, v, [&] { emit(s.body[0]); });
}

void Emitter::emit_while(const Stmt& s) {
  PLIANT_CHECK(!lanes_) << "a while inside a vector loop";
  clear_memo();  // the limit may read memory
  Value* limit = s.extent ? uniform_dim(s.extent) : nullptr;
  auto goes_on = [&](Value* index) -> Value* {
    clear_memo();
    Value* holds = limit ? b_.CreateICmpSLT(index, limit) : b_.getTrue();
    if (!s.value) return holds;
    Value* condition = nullptr;
    bind(s.var, index, [&] { condition = emit(s.value).v; });
    clear_memo();
    return limit ? b_.CreateAnd(holds, condition) : condition;
  };
  auto* loop = llvm::BasicBlock::Create(llvm_, ctx_.info(s.var).name, function_);
  auto* latch = llvm::BasicBlock::Create(llvm_, "latch", function_);
  auto* done = llvm::BasicBlock::Create(llvm_, "done", function_);
  Value* enters = goes_on(hoist_->constant(0));
  b_.CreateCondBr(enters, loop, done);
  llvm::BasicBlock* from = b_.GetInsertBlock();
  hoist_->enter(loop);
  auto* i = b_.CreatePHI(b_.getInt64Ty(), 2, ctx_.info(s.var).name);
  hoist_->define(i);
  i->addIncoming(hoist_->constant(0), from);
  bind(s.var, i, [&] { emit(s.body[0]); });
  // The flag is looked at after the body: what stands before in the body is known to run and can leave the loop.
  emit_poll(latch);
  b_.SetInsertPoint(latch);
  Value* next = b_.CreateAdd(i, hoist_->constant(1), "", true, true);
  Value* again = goes_on(next);
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(again, loop, done);
  hoist_->leave(done);
  clear_memo();
}

void Emitter::emit_vector_for(const Stmt& s) {
  PLIANT_CHECK(!lanes_) << "vector loop " << ctx_.info(s.var).name << " is inside another one";
  lanes_ = s.extent.const_value();
  hoist_->set_lanes(lanes_);
  lane_var_ = s.var;
  clear_memo();
  emit(s.body[0]);
  clear_memo();
  lanes_ = 0;
  hoist_->set_lanes(0);
}

}  // namespace pliant::codegen
