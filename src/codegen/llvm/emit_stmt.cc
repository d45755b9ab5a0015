// Statements. Loops run at least once when entered: a guard before, the test at the end.
#include "codegen/legalize/legalize.h"
#include "codegen/llvm/emitter.h"
#include "loop/walk.h"

namespace pliant::codegen {

using expr::BinaryOp;
using expr::Dim;
using expr::Scalar;
using expr::ScalarKind;
using llvm::Value;
using loop::ForKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtPtr;

namespace {

void split_conjuncts(Scalar cond, std::vector<Scalar>& out) {
  if (cond->kind == ScalarKind::Binary && cond->binary() == BinaryOp::And) {
    split_conjuncts(cond->args[0], out);
    split_conjuncts(cond->args[1], out);
  } else {
    out.push_back(cond);
  }
}

}  // namespace

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
    case StmtKind::Block:
      for (const StmtPtr& child : s->body) emit(child);
      return;
    case StmtKind::For: return emit_for(*s);
    case StmtKind::While: return emit_while(*s);
    case StmtKind::Let: return emit_let(*s);
    case StmtKind::Store: return emit_store(*s);
    case StmtKind::If: return emit_if(*s);
    case StmtKind::Alloc: return emit_alloc(*s);
    case StmtKind::Check: return emit_check(*s);
  }
}

void Emitter::emit_serial_loop(expr::SymbolId var, Value* extent, bool runs_once, const std::function<void()>& body) {
  if (auto* n = llvm::dyn_cast<llvm::ConstantInt>(extent)) {
    if (n->getSExtValue() <= 0) return;
    if (n->isOne()) return bind(var, hoist_->constant(0), body);
    runs_once = true;
  }
  auto* loop = llvm::BasicBlock::Create(llvm_, ctx_.info(var).name, function_);
  auto* done = llvm::BasicBlock::Create(llvm_, "done", function_);
  if (runs_once) {
    b_.CreateBr(loop);
  } else {
    b_.CreateCondBr(b_.CreateICmpSGT(extent, hoist_->constant(0)), loop, done);
  }
  llvm::BasicBlock* from = b_.GetInsertBlock();
  hoist_->enter(loop);
  auto* i = b_.CreatePHI(b_.getInt64Ty(), 2, ctx_.info(var).name);
  hoist_->define(i);
  i->addIncoming(hoist_->constant(0), from);
  bind(var, i, body);
  Value* next = b_.CreateAdd(i, hoist_->constant(1), "", true, true);
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, extent), loop, done);
  hoist_->leave(done);
}

void Emitter::emit_for(const Stmt& s) {
  if (s.for_kind == ForKind::Vector && opt_level_ > 0 && !lanes_ && s.extent.is_const() && s.extent.const_value() > 1 &&
      can_vectorize(s)) {
    return emit_vector_for(s);
  }
  if (s.for_kind == ForKind::Unroll && opt_level_ > 0 && s.extent.is_const()) {
    for (int64_t i = 0; i < s.extent.const_value(); ++i) bind(s.var, hoist_->constant(i), [&] { emit(s.body[0]); });
    return;
  }
  clear_memo();  // the extent may read memory
  emit_serial_loop(s.var, uniform_dim(s.extent), ctx_.range(s.extent).lo >= 1, [&] { emit(s.body[0]); });
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
  Value* flag = b_.CreateAlignedLoad(b_.getInt32Ty(), stop_, llvm::Align(4), /*isVolatile=*/true);
  b_.CreateCondBr(b_.CreateIsNull(flag), latch, stopped_block(), llvm::MDBuilder(llvm_).createBranchWeights(1 << 20, 1));
  b_.SetInsertPoint(latch);
  Value* next = b_.CreateAdd(i, hoist_->constant(1), "", true, true);
  Value* again = goes_on(next);
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(again, loop, done);
  hoist_->leave(done);
  clear_memo();
}

llvm::BasicBlock* Emitter::stopped_block() {
  if (stopped_) return stopped_;
  stopped_ = llvm::BasicBlock::Create(llvm_, "stopped", function_);
  llvm::IRBuilder<>(stopped_).CreateRet(b_.getInt32(artifact::kKernelStopped));
  return stopped_;
}

void Emitter::emit_vector_for(const Stmt& s) {
  // In pieces of a power of two lanes: other vector types are widened or taken apart by the code generator.
  const int64_t n = s.extent.const_value();
  const int64_t widest = 4 * target_.vector_bytes / 4;
  for (int64_t first = 0; first < n;) {
    int64_t lanes = widest;
    while (lanes > n - first) lanes /= 2;
    if (lanes == 1) {
      bind(s.var, hoist_->constant(first), [&] { emit(s.body[0]); });
    } else {
      lanes_ = lanes;
      hoist_->set_lanes(lanes);
      lane_var_ = s.var;
      first_lane_ = first;
      clear_memo();
      emit(s.body[0]);
      clear_memo();
      lanes_ = 0;
      hoist_->set_lanes(0);
    }
    first += lanes;
  }
}

bool Emitter::can_vectorize(const Stmt& s) const {
  // A loop inside must run equally often in every lane: its extent must not depend on the lane or on memory that the body
  // writes.
  bool possible = true;
  std::map<loop::BufferId, bool> written;
  loop::for_each(s.body[0], [&](const Stmt& x) {
    if (x.kind == StmtKind::Store) written[x.buffer] = true;
    if (x.kind == StmtKind::Alloc) {
      written[x.alloc->id] = true;
      if (x.alloc->scope != loop::Scope::Local) possible = false;
    }
    if (x.kind == StmtKind::While || x.kind == StmtKind::Let) possible = false;
  });
  loop::for_each(s.body[0], [&](const Stmt& x) {
    if (x.kind != StmtKind::For) return;
    if (expr::uses_symbol(x.extent, s.var)) possible = false;
    for (const Scalar& load : expr::loads_of(expr::make_index(x.extent))) {
      if (written.count(load->tensor)) possible = false;
    }
  });
  return possible;
}

void Emitter::emit_branch(Value* cond, const std::function<void()>& then, const std::function<void()>& otherwise) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(cond)) {
    if (c->isOne()) then();
    if (c->isZero() && otherwise) otherwise();
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
    otherwise();
    b_.CreateBr(join);
  }
  hoist_->leave(join);
  clear_memo();
}

bool Emitter::needs_some_lane(const StmtPtr& s) {
  // A load that may be the same address for all lanes is not masked, so at least one lane must be there.
  bool found = false;
  auto look = [&](Scalar x) {
    for (const Scalar& load : expr::loads_of(x)) {
      auto b = buffers_.find(load->tensor);
      const bool local = b == buffers_.end() || b->second.buffer->scope == loop::Scope::Local;
      if (!local && !expr::uses_symbol(load, lane_var_)) found = true;
    }
  };
  loop::for_each(s, [&](const Stmt& x) {
    if (x.value) look(x.value);
    loop::for_each_dim(x, [&](Dim d) { look(expr::make_index(d)); });
  });
  return found;
}

void Emitter::emit_if(const Stmt& s) {
  clear_memo();
  StmtPtr otherwise = s.body.size() > 1 ? s.body[1] : nullptr;
  if (lanes_) return emit_masked_if(s);
  const Val c = emit(s.value);
  if (otherwise) {
    emit_branch(c.v, [&] { emit(s.body[0]); }, [&] { emit(otherwise); });
  } else {
    emit_branch(c.v, [&] { emit(s.body[0]); });
  }
}

Emitter::Conditions Emitter::emit_conditions(const std::vector<Scalar>& conjuncts) {
  Conditions out;
  out.all = b_.getTrue();
  auto conjoin = [&](Value* x, Value* y) { return x ? b_.CreateAnd(x, y) : y; };
  for (Scalar c : conjuncts) {
    Value* all_of_this = nullptr;
    Val v;
    if (c->kind == ScalarKind::Binary && expr::is_comparison(c->binary()) && c->args[0]->kind == ScalarKind::Index &&
        c->args[1]->kind == ScalarKind::Index) {
      v = compare_index(c->binary(), index_of(c->args[0]->index[0] - c->args[1]->index[0]), &all_of_this);
    } else {
      v = emit(c);
    }
    if (v.vec) {
      out.mask = conjoin(out.mask, v.v);
      out.all = out.all && all_of_this ? b_.CreateAnd(out.all, all_of_this) : nullptr;
    } else {
      out.uniform = conjoin(out.uniform, v.v);
    }
  }
  return out;
}

void Emitter::emit_under_mask(const StmtPtr& body, Value* mask) {
  Guard g = guard_;
  g.mask = guard_.mask ? b_.CreateAnd(guard_.mask, mask) : mask;
  g.some_lane = false;
  if (!needs_some_lane(body)) return with_guard(g, [&] { emit(body); });
  g.some_lane = true;
  emit_branch(any_lane(g.mask), [&] { with_guard(g, [&] { emit(body); }); });
}

void Emitter::emit_masked_if(const Stmt& s) {
  std::vector<Scalar> conjuncts;
  split_conjuncts(s.value, conjuncts);
  Conditions c = emit_conditions(conjuncts);
  const StmtPtr then = s.body[0];
  const StmtPtr otherwise = s.body.size() > 1 ? s.body[1] : nullptr;
  if (!c.mask) {
    if (otherwise) return emit_branch(c.uniform, [&] { emit(then); }, [&] { emit(otherwise); });
    return emit_branch(c.uniform, [&] { emit(then); });
  }
  if (otherwise) {
    if (c.uniform) c.mask = b_.CreateAnd(c.mask, splat(c.uniform));
    emit_under_mask(then, c.mask);
    return emit_under_mask(otherwise, b_.CreateNot(c.mask));
  }
  // Where masked memory is slow, whole vectors get code of their own.
  const bool has_two_versions = c.all && !guard_.mask && !target_.masked_memory;
  auto taken = [&] {
    if (!has_two_versions) return emit_under_mask(then, c.mask);
    emit_branch(c.all, [&] { emit(then); }, [&] { emit_under_mask(then, c.mask); });
  };
  if (c.uniform) {
    emit_branch(c.uniform, taken);
  } else {
    taken();
  }
}

void Emitter::emit_alloc(const Stmt& s) {
  const loop::Buffer& b = *s.alloc;
  BufferState state;
  state.buffer = &b;
  if (b.scope == loop::Scope::Scratch) {
    state.base = hoist_->gep(b_.getInt8Ty(), scratch_, uniform_dim(scratch_offsets_.at(b.id)));
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
    state.lane_private = lanes_ > 0;
    const int64_t copies = state.lane_private ? lanes_ : 1;
    llvm::BasicBlock& entry = function_->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    auto* type_of_all = llvm::ArrayType::get(memory_type(b.dtype), static_cast<uint64_t>(elements * copies));
    auto* memory = at_entry.CreateAlloca(type_of_all, nullptr, b.name);
    memory->setAlignment(llvm::Align(64));
    state.base = memory;
  }
  auto [it, is_new] = buffers_.try_emplace(b.id, state);
  if (!is_new) it->second = state;
  emit(s.body[0]);
}

void Emitter::emit_check(const Stmt& s) {
  clear_memo();
  const Val ok = emit(s.value);
  auto* fault = llvm::BasicBlock::Create(llvm_, "fault", function_);
  auto* next = llvm::BasicBlock::Create(llvm_, "checked", function_);
  Value* bad = nullptr;
  if (ok.vec || guard_.mask) {
    bad = b_.CreateNot(splat(ok));
    if (guard_.mask) bad = b_.CreateAnd(bad, guard_.mask);
  }
  Value* fails = bad ? any_lane(bad) : b_.CreateNot(ok.v);
  b_.CreateCondBr(fails, fault, next, llvm::MDBuilder(llvm_).createBranchWeights(1, 1 << 20));
  hoist_->enter(fault);
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
  b_.CreateRet(b_.getInt32(s.fault + 1));
  while (memo_log_.size() > log) {
    memo_.erase(memo_log_.back());
    memo_log_.pop_back();
  }
  hoist_->leave(next);
}

}  // namespace pliant::codegen
