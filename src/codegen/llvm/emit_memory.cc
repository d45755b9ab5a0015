// Loads and stores. In a vector loop the flat index decides: uniform, contiguous (also backwards), or anything else, which
// is a gather or a scatter.
#include "codegen/llvm/emitter.h"
#include "loop/build.h"

namespace pliant::codegen {

using expr::Dim;
using expr::Scalar;
using llvm::Value;
using loop::Scope;
using loop::StoreKind;

Dim Emitter::flat_index(const loop::Buffer& b, const std::vector<Dim>& index) {
  const std::vector<Dim> strides = loop::strides_of(b, ctx_);
  PLIANT_CHECK(index.size() == strides.size()) << "buffer " << b.name << " has rank " << strides.size();
  return loop::offset_of(ctx_, strides, index);
}

bool Emitter::proves_in_bounds(const loop::Buffer& b, const std::vector<Dim>& index) {
  for (size_t i = 0; i < index.size(); ++i)
    if (!ctx_.proves_less_equal(ctx_.constant(0), index[i]) || !ctx_.proves_less(index[i], b.shape[i])) return false;
  return true;
}

Value* Emitter::address(const BufferState& b, const Index& ix) {
  llvm::Type* element = memory_type(b.buffer->dtype);
  // One address step a level, outermost first, so that each is computed where its parts are known.
  std::vector<Value*> terms = ix.terms;
  std::stable_sort(terms.begin(), terms.end(), [&](Value* x, Value* y) { return hoist_->level(x) < hoist_->level(y); });
  Value* p = b.base;
  for (size_t i = 0; i < terms.size();) {
    const unsigned level = hoist_->level(terms[i]);
    Value* sum = hoist_->constant(0);
    for (; i < terms.size() && hoist_->level(terms[i]) == level; ++i) sum = hoist_->add(sum, terms[i]);
    p = hoist_->gep(element, p, sum);
  }
  return hoist_->gep(element, p, hoist_->constant(ix.constant));
}

Value* Emitter::lane_addresses(const BufferState& b, const Index& ix) {
  llvm::Type* element = memory_type(b.buffer->dtype);
  const Index uniform{ix.terms, ix.constant};
  if (const std::optional<Small> s = small_part(ix)) return b_.CreateInBoundsGEP(element, address(b, uniform), s->v);
  Index varying = ix;
  varying.terms.clear();
  varying.constant = 0;
  return b_.CreateInBoundsGEP(element, address(b, uniform), wide_lanes(varying));
}

llvm::Align Emitter::alignment_of(const BufferState& b) {
  return llvm::Align(static_cast<uint64_t>(byte_size(b.buffer->dtype)));
}

Value* Emitter::gather(const BufferState& b, Value* pointers, Value* mask) {
  auto* ty = vector_of(memory_type(b.buffer->dtype));
  auto* loaded = b_.CreateMaskedGather(ty, pointers, alignment_of(b), mask, llvm::Constant::getNullValue(ty));
  annotate(loaded, b, true);
  return from_memory(b.buffer->dtype, loaded);
}

void Emitter::annotate(llvm::Instruction* i, const BufferState& b, bool is_load) {
  if (opt_level_ == 0) return;
  accesses_.emplace_back(i, b.buffer->id);
  // Gathers carry no such mark.
  if (is_load && b.buffer->scope == Scope::Param && !b.buffer->is_output && llvm::isa<llvm::LoadInst>(i))
    i->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(llvm_, {}));
}

Value* Emitter::zeros(int64_t bytes) {
  // Big enough for any vector load; grows with the module's needs.
  const std::string name = "zeros" + std::to_string(bytes);
  if (llvm::GlobalVariable* g = module_.getNamedGlobal(name)) return g;
  auto* array = llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(bytes));
  auto* g = new llvm::GlobalVariable(module_, array, true, llvm::GlobalValue::PrivateLinkage,
                                     llvm::ConstantAggregateZero::get(array), name);
  g->setAlignment(llvm::Align(64));
  return g;
}

Value* Emitter::load_scalar(const BufferState& b, Value* pointer) {
  auto* load = b_.CreateAlignedLoad(memory_type(b.buffer->dtype), pointer, alignment_of(b));
  annotate(load, b, true);
  return from_memory(b.buffer->dtype, load);
}

void Emitter::store_scalar(const BufferState& b, Value* pointer, Value* value) {
  if (b.buffer->dtype == DType::Bool) value = b_.CreateZExt(value, b_.getInt8Ty());
  annotate(b_.CreateAlignedStore(value, pointer, alignment_of(b)), b, false);
}

Value* Emitter::load_vector(const BufferState& b, Value* pointer, Value* mask) {
  auto* ty = vector_of(memory_type(b.buffer->dtype));
  llvm::Instruction* load = nullptr;
  if (mask) {
    load = b_.CreateMaskedLoad(ty, pointer, alignment_of(b), mask, llvm::Constant::getNullValue(ty));
  } else {
    load = b_.CreateAlignedLoad(ty, pointer, alignment_of(b));
  }
  annotate(load, b, true);
  return from_memory(b.buffer->dtype, load);
}

Value* Emitter::load_where(const BufferState& b, Value* pointer, Value* mask) {
  const int64_t bytes = byte_size(b.buffer->dtype);
  if (!mask || target_.masked_memory || bytes >= 4 || b.buffer->scope != Scope::Param || opt_level_ == 0)
    return load_vector(b, pointer, mask);
  // Without instructions for it a masked load is a branch a lane: only vectors that are not wholly inside get one.
  Dim elements = ctx_.constant(1);
  for (Dim d : b.buffer->shape) elements = elements * d;
  Value* offset = b_.CreateSub(b_.CreatePtrToInt(pointer, b_.getInt64Ty()), b_.CreatePtrToInt(b.base, b_.getInt64Ty()));
  Value* last = uniform_dim((elements - lanes_) * bytes);
  Value* inside = b_.CreateAnd(b_.CreateICmpSGE(offset, hoist_->constant(0)), b_.CreateICmpSLE(offset, last));
  auto* all = llvm::BasicBlock::Create(llvm_, "inside", function_);
  auto* some = llvm::BasicBlock::Create(llvm_, "border", function_);
  auto* done = llvm::BasicBlock::Create(llvm_, "loaded", function_);
  b_.CreateCondBr(inside, all, some);
  b_.SetInsertPoint(all);
  Value* whole = load_vector(b, pointer, nullptr);
  whole = b_.CreateSelect(mask, whole, llvm::Constant::getNullValue(whole->getType()));
  b_.CreateBr(done);
  llvm::BasicBlock* from = b_.GetInsertBlock();
  b_.SetInsertPoint(some);
  Value* part = load_vector(b, pointer, mask);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  auto* loaded = b_.CreatePHI(whole->getType(), 2);
  loaded->addIncoming(whole, from);
  loaded->addIncoming(part, some);
  return loaded;
}

void Emitter::store_non_temporal(const BufferState& b, Value* pointer, Value* value) {
  const auto bytes = static_cast<uint64_t>(lanes_ * byte_size(b.buffer->dtype));
  if (b.buffer->dtype == DType::Bool || !llvm::isPowerOf2_64(bytes) || bytes < 16 ||
      bytes > static_cast<uint64_t>(target_.vector_bytes))
    return store_vector(b, pointer, value, nullptr, false);
  // Only whole vectors at multiples of their size are non-temporal.
  Value* low = b_.CreateAnd(b_.CreatePtrToInt(pointer, b_.getInt64Ty()), b_.getInt64(bytes - 1));
  auto* aligned = llvm::BasicBlock::Create(llvm_, "stream", function_);
  auto* other = llvm::BasicBlock::Create(llvm_, "stream.unaligned", function_);
  auto* done = llvm::BasicBlock::Create(llvm_, "stream.done", function_);
  b_.CreateCondBr(b_.CreateICmpEQ(low, b_.getInt64(0)), aligned, other);
  b_.SetInsertPoint(aligned);
  llvm::StoreInst* store = b_.CreateAlignedStore(value, pointer, llvm::Align(bytes));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(llvm_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
  annotate(store, b, false);
  b_.CreateBr(done);
  b_.SetInsertPoint(other);
  store_vector(b, pointer, value, nullptr, false);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  has_non_temporal_ = true;
}

void Emitter::store_vector(const BufferState& b, Value* pointer, Value* value, Value* mask, bool whole) {
  const llvm::Align align = alignment_of(b);
  if (mask && whole) {
    // A blend instead of a masked store keeps the buffer in registers.
    value = b_.CreateSelect(mask, value, load_vector(b, pointer, nullptr));
    mask = nullptr;
  }
  if (b.buffer->dtype == DType::Bool) value = b_.CreateZExt(value, vector_of(b_.getInt8Ty()));
  llvm::Instruction* store = mask ? static_cast<llvm::Instruction*>(b_.CreateMaskedStore(value, pointer, align, mask))
                                  : b_.CreateAlignedStore(value, pointer, align);
  annotate(store, b, false);
}

int64_t Emitter::short_step(const Index& ix) const {
  for (int64_t n : {2, 3, 4, -2, -3, -4})
    if (ix.steps_by(n)) return n;
  return 0;
}

Value* Emitter::load_strided(const BufferState& b, Value* first, int64_t step) {
  // Whole vectors over the span of the lanes, the last one ending with the last lane's element, and a selection from each.
  const int64_t n = std::abs(step);
  llvm::Type* element = memory_type(b.buffer->dtype);
  Value* out = nullptr;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t start = k + 1 < n ? k * lanes_ : (lanes_ - 1) * (n - 1);
    Value* part = load_vector(b, b_.CreateConstInBoundsGEP1_64(element, first, static_cast<uint64_t>(start)), nullptr);
    std::vector<int> from;
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      const int64_t at = (step > 0 ? lane : lanes_ - 1 - lane) * n;
      const bool here = std::min(at / lanes_, n - 1) == k;
      from.push_back(static_cast<int>(here ? at - start + (out ? lanes_ : 0) : lane));
    }
    out = out ? b_.CreateShuffleVector(out, part, from) : b_.CreateShuffleVector(part, from);
  }
  return out;
}

Value* Emitter::load_word(Scalar first) {
  const BufferState& b = buffers_.at(first->tensor);
  const Index ix = index_of(flat_index(*b.buffer, first->index));
  if (!ix.is_uniform() || guard_.any()) return nullptr;
  auto* load = b_.CreateAlignedLoad(b_.getInt32Ty(), address(b, ix), llvm::Align(1));
  annotate(load, b, true);
  return load;
}

Val Emitter::emit_load(Scalar s) {
  const BufferState& b = buffers_.at(s->tensor);
  const Dim flat = flat_index(*b.buffer, s->index);
  const Index ix = index_of(flat);
  const bool guarded = guard_.any() && !proves_in_bounds(*b.buffer, s->index);
  const int64_t bytes = byte_size(b.buffer->dtype);
  // Under a uniform condition that is false, zeros are read instead.
  auto kept_inside = [&](Value* p, Value* condition, int64_t size) {
    return condition ? b_.CreateSelect(condition, p, zeros(size)) : p;
  };
  if (ix.is_uniform()) {
    Value* condition = guarded ? guard_.uniform : nullptr;
    if (guarded && guard_.mask && !guard_.some_lane) {
      Value* some = b_.CreateOrReduce(guard_.mask);
      condition = condition ? b_.CreateAnd(condition, some) : some;
    }
    return {load_scalar(b, kept_inside(address(b, ix), condition, bytes)), false};
  }
  Value* mask = guarded ? guard_.mask : nullptr;
  Value* condition = guarded ? guard_.uniform : nullptr;
  if (ix.steps_by(1)) {
    return {load_where(b, kept_inside(address(b, ix), condition, bytes * lanes_), mask), true};
  }
  if (ix.steps_by(-1)) {
    Index low = ix;
    low.constant -= lanes_ - 1;
    if (mask) mask = b_.CreateVectorReverse(mask);
    return {b_.CreateVectorReverse(load_vector(b, kept_inside(address(b, low), condition, bytes * lanes_), mask)), true};
  }
  if (Value* shuffled = load_shuffled(b, ix)) return {shuffled, true};
  if (Value* spread = load_spread(b, ix)) return {spread, true};
  if (runs_or_stays(ix, flat)) return {load_run_or_element(b, ix, mask, condition), true};
  if (const int64_t step = short_step(ix); step != 0 && !mask) {
    const int64_t span = (lanes_ - 1) * std::abs(step) + 1;
    Index low = ix;
    if (step < 0) low.constant -= span - 1;
    return {load_strided(b, kept_inside(address(b, low), condition, bytes * span), step), true};
  }
  if (condition) {
    Value* all = splat(condition);
    mask = mask ? b_.CreateAnd(mask, all) : all;
  }
  return {gather(b, lane_addresses(b, ix), mask), true};
}

void Emitter::emit_store(const loop::Stmt& s) {
  clear_memo();
  const BufferState& b = buffers_.at(s.buffer);
  const DType t = b.buffer->dtype;
  const Index ix = index_of(flat_index(*b.buffer, s.index));
  const bool contiguous = lanes_ && ix.steps_by(1);
  // Every lane's element is there, whether the mask has it or not.
  const bool whole = lanes_ && b.buffer->scope == Scope::Local && proves_in_bounds(*b.buffer, s.index);
  if (!lanes_ || contiguous) {
    Value* p = address(b, ix);
    Value* mask = lanes_ ? guard_.mask : nullptr;
    auto operand = [&](Scalar x) {
      const Val v = emit(x);
      return lanes_ ? splat(v) : v.v;
    };
    auto old = [&] { return lanes_ ? load_vector(b, p, whole ? nullptr : mask) : load_scalar(b, p); };
    Value* v = nullptr;
    if (const auto update = lane_update(s, t)) {
      Value* x = operand(update->operands.first);
      Value* y = operand(update->operands.second);
      v = emit_update(*update, old(), x, y);
    } else {
      v = operand(s.value);
      if (s.store_kind != StoreKind::Assign) v = combine(s.store_kind, t, old(), v);
    }
    if (lanes_ && s.non_temporal && !mask) {
      store_non_temporal(b, p, v);
    } else if (lanes_) {
      store_vector(b, p, v, mask, whole);
    } else {
      store_scalar(b, p, v);
    }
    return;
  }
  const Val v = emit(s.value);
  if (ix.is_uniform()) {
    store_reduced(s, b, ix, v);
  } else {
    store_lanes(s, b, ix, v);
  }
}

void Emitter::store_reduced(const loop::Stmt& s, const BufferState& b, const Index& ix, Val value) {
  // Every lane stores to one place.
  const DType t = b.buffer->dtype;
  Value* p = address(b, ix);
  Value* v = splat(value);
  if (s.store_kind != StoreKind::Assign) {
    if (t == DType::F16 || t == DType::BF16) {
      // Halves are rounded after each step, which a tree would do differently at every width.
      return for_each_lane(guard_.mask, [&](Value* lane) {
        store_scalar(b, p, combine(s.store_kind, t, load_scalar(b, p), b_.CreateExtractElement(v, lane)));
      });
    }
    if (guard_.mask)
      v = b_.CreateSelect(guard_.mask, v, splat(constant(t, (*loop::identity_of(s.store_kind, t, ctx_))->bits)));
    store_scalar(b, p, combine(s.store_kind, t, load_scalar(b, p), reduce_lanes(s.store_kind, t, v)));
    return;
  }
  if (!guard_.mask) {
    store_scalar(b, p, value.vec ? b_.CreateExtractElement(v, static_cast<uint64_t>(lanes_ - 1)) : value.v);
    return;
  }
  for_each_lane(guard_.mask, [&](Value* lane) { store_scalar(b, p, b_.CreateExtractElement(v, lane)); });
}

void Emitter::store_lanes(const loop::Stmt& s, const BufferState& b, const Index& ix, Val value) {
  const DType t = b.buffer->dtype;
  Value* v = splat(value);
  Value* pointers = lane_addresses(b, ix);
  // No two lanes have one place.
  const expr::Dim from_lane = flat_index(*b.buffer, s.index) - ctx_.symbol_dim(lane_var_);
  auto* step = llvm::dyn_cast_or_null<llvm::ConstantInt>(ix.step);
  const bool distinct = (step && !step->isZero() && !ix.small && !ix.wide) || ctx_.divisible(from_lane, lanes_);
  if (s.store_kind == StoreKind::Assign || distinct) {
    if (s.store_kind != StoreKind::Assign) v = combine(s.store_kind, t, gather(b, pointers, guard_.mask), v);
    if (t == DType::Bool) v = b_.CreateZExt(v, vector_of(b_.getInt8Ty()));
    annotate(b_.CreateMaskedScatter(v, pointers, alignment_of(b), guard_.mask), b, false);
    return;
  }
  // Lanes may meet in one place: one after the other.
  for_each_lane(guard_.mask, [&](Value* lane) {
    Value* p = b_.CreateExtractElement(pointers, lane);
    store_scalar(b, p, combine(s.store_kind, t, load_scalar(b, p), b_.CreateExtractElement(v, lane)));
  });
}

void Emitter::for_each_lane(Value* mask, const std::function<void(Value*)>& body) {
  auto* loop = llvm::BasicBlock::Create(llvm_, "lane", function_);
  auto* active = llvm::BasicBlock::Create(llvm_, "lane.active", function_);
  auto* next = llvm::BasicBlock::Create(llvm_, "lane.next", function_);
  auto* done = llvm::BasicBlock::Create(llvm_, "lane.done", function_);
  llvm::BasicBlock* from = b_.GetInsertBlock();
  b_.CreateBr(loop);
  hoist_->enter(loop);
  auto* lane = b_.CreatePHI(b_.getInt64Ty(), 2);
  lane->addIncoming(b_.getInt64(0), from);
  if (mask) {
    b_.CreateCondBr(b_.CreateExtractElement(mask, lane), active, next);
  } else {
    b_.CreateBr(active);
  }
  b_.SetInsertPoint(active);
  body(lane);
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
  Value* after = b_.CreateAdd(lane, b_.getInt64(1));
  lane->addIncoming(after, next);
  b_.CreateCondBr(b_.CreateICmpULT(after, b_.getInt64(static_cast<uint64_t>(lanes_))), loop, done);
  hoist_->leave(done);
}

}  // namespace pliant::codegen
