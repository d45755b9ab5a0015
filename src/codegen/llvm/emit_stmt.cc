// Statements other than loops.
#include "codegen/llvm/emitter.h"
#include "expr/parts.h"
#include "loop/walk.h"

namespace pliant::codegen {

using expr::Dim;
using expr::Scalar;
using llvm::Value;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtPtr;

void Emitter::bind(expr::SymbolId var, Value* v, const std::function<void()>& body) {
  auto it = env_.find(var);
  Value* shadowed = it == env_.end() ? nullptr : it->second;
  env_[var] = v;
  body();
  if (shadowed) {
    env_[var] = shadowed;
  } else {
    env_.erase(var);
  }
}

void Emitter::emit(const StmtPtr& s) {
  switch (s->kind) {
    case StmtKind::Block: return emit_block(*s);
    case StmtKind::For: return emit_for(*s);
    case StmtKind::While: return emit_while(*s);
    case StmtKind::Let: return emit_let(*s);
    case StmtKind::Store: return emit_store(*s);
    case StmtKind::If: return emit_if(*s);
    case StmtKind::Alloc: return emit_alloc(*s);
    case StmtKind::Check: return emit_check(*s);
  }
}

void Emitter::emit_branch(Value* cond, const std::function<void()>& then, const StmtPtr& otherwise) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(cond)) {
    if (c->isOne()) then();
    if (c->isZero() && otherwise) emit(otherwise);
    return;
  }
  auto* yes = llvm::BasicBlock::Create(llvm_, "then", function_);
  auto* join = llvm::BasicBlock::Create(llvm_, "join", function_);
  auto* no = otherwise ? llvm::BasicBlock::Create(llvm_, "else", function_) : join;
  b_.CreateCondBr(cond, yes, no);
  clear_memo();
  hoist_->enter(yes);
  then();
  b_.CreateBr(join);
  if (otherwise) {
    // The second branch hangs off the same block as the first.
    hoist_->leave_to_sibling(no);
    clear_memo();
    emit(otherwise);
    b_.CreateBr(join);
  }
  hoist_->leave(join);
  clear_memo();
}

bool Emitter::needs_some_lane(const StmtPtr& s) {
  // A load that may be the same address for all lanes is not masked, so at least one lane must be there.
  bool found = false;
  auto look = [&](Scalar load) {
    auto b = buffers_.find(load->tensor);
    const bool local = b == buffers_.end() || b->second.buffer->scope == loop::Scope::Local;
    if (!local && !expr::uses_symbol(load, lane_var_)) found = true;
  };
  loop::for_each(s, [&](const Stmt& x) { loop::for_each_load(x, look); });
  return found;
}

void Emitter::emit_under_mask(const StmtPtr& body, Value* mask) {
  Guard g = guard_;
  g.mask = guard_.mask ? b_.CreateAnd(guard_.mask, mask) : mask;
  g.some_lane = false;
  if (!needs_some_lane(body)) return with_guard(g, [&] { emit(body); });
  g.some_lane = true;
  emit_branch(b_.CreateOrReduce(g.mask), [&] { with_guard(g, [&] { emit(body); }); });
}

void Emitter::emit_if(const Stmt& s) {
  clear_memo();
  const StmtPtr then = s.body[0], otherwise = s.body.size() > 1 ? s.body[1] : nullptr;
  if (!lanes_) return emit_branch(emit(s.value).v, [&] { emit(then); }, otherwise);
  Value *uniform = nullptr, *mask = nullptr;  // the conjunctions of the conditions of each kind; null for none
  for (Scalar c : expr::conjuncts_of(s.value)) {
    const Val v = emit(c);
    Value*& of_kind = v.vec ? mask : uniform;
    of_kind = of_kind ? b_.CreateAnd(of_kind, v.v) : v.v;
  }
  if (!mask) return emit_branch(uniform, [&] { emit(then); }, otherwise);
  if (otherwise) {
    if (uniform) mask = b_.CreateAnd(mask, splat(uniform));
    emit_under_mask(then, mask);
    return emit_under_mask(otherwise, b_.CreateNot(mask));
  }
  if (!uniform) return emit_under_mask(then, mask);
  emit_branch(uniform, [&] { emit_under_mask(then, mask); });
}

void Emitter::emit_alloc(const Stmt& s) {
  const loop::Buffer& b = *s.alloc;
  BufferState state;
  state.buffer = &b;
  if (b.scope == loop::Scope::Scratch) {
    const ScratchPlace& place = scratch_places_.at(b.id);
    Value* offset = uniform_dim(place.offset);
    if (place.gaps != nullptr) offset = hoist_->add(offset, place.gaps);
    state.base = hoist_->gep(b_.getInt8Ty(), scratch_, offset);
  } else {
    PLIANT_CHECK(b.scope == loop::Scope::Local) << "a parameter is not allocated";
    const std::vector<Dim> strides = loop::strides_of(b, ctx_);
    int64_t elements = 1;
    for (size_t i = 0; i < b.shape.size(); ++i) {
      PLIANT_CHECK(b.shape[i].is_const() && strides[i].is_const()) << "local buffer " << b.name << " has a symbolic shape";
      elements += (b.shape[i].const_value() - 1) * strides[i].const_value();
    }
    for (Dim d : b.shape) elements = d.is_const(0) ? 0 : elements;
    state.elements = elements;
    PLIANT_CHECK(!lanes_) << "local buffer " << b.name << " is made inside a vector loop";
    llvm::BasicBlock& entry = function_->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    auto* type_of_all = llvm::ArrayType::get(memory_type(b.dtype), static_cast<uint64_t>(elements));
    auto* memory = at_entry.CreateAlloca(type_of_all, nullptr, b.name);
    memory->setAlignment(llvm::Align(64));
    state.base = memory;
  }
  buffers_.insert_or_assign(b.id, state);
  emit(s.body[0]);
}

void Emitter::emit_check(const Stmt& s) {
  clear_memo();
  const Val ok = emit(s.value);
  auto* trap = llvm::BasicBlock::Create(llvm_, "trap", function_);
  auto* next = llvm::BasicBlock::Create(llvm_, "checked", function_);
  Value* bad = nullptr;
  if (ok.vec || guard_.mask) {
    bad = b_.CreateNot(splat(ok));
    if (guard_.mask) bad = b_.CreateAnd(bad, guard_.mask);
  }
  Value* fails = bad ? b_.CreateOrReduce(bad) : b_.CreateNot(ok.v);
  b_.CreateCondBr(fails, trap, next, llvm::MDBuilder(llvm_).createBranchWeights(1, 1 << 20));
  hoist_->enter(trap);
  const size_t log = memo_log_.size();
  Value* lane = nullptr;
  if (bad) {
    Value* bits = b_.CreateBitCast(bad, b_.getIntNTy(static_cast<unsigned>(lanes_)));
    lane = b_.CreateZExtOrTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b_.getTrue()), b_.getInt64Ty());
  }
  for (size_t i = 0; i < s.index.size(); ++i) {
    const Index x = index_of(s.index[i]);
    Value* v = x.is_uniform() ? uniform_part(x) : b_.CreateExtractElement(wide_lanes(x), lane);
    b_.CreateStore(v, b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), fault_values_, i));
  }
  b_.CreateRet(b_.getInt32(s.trap + 1));
  forget_since(log);
  hoist_->leave(next);
}

}  // namespace pliant::codegen
