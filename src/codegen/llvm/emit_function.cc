// Kernels and shape functions: frames, task grids, aliasing facts.
//
//   entry:  buffers, integers and scratch from the frame
//   task:   for t in [begin, end): the body; in turns (emit_loop.cc)
//   done:   return 0
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <set>
#include <span>

#include "artifact/entry.h"
#include "codegen/llvm/emitter.h"
#include "loop/walk.h"

namespace pliant::codegen {

using llvm::Value;

Emitter::Emitter(llvm::Module& module, expr::Context& ctx, const Target& target, int opt_level)
    : module_(module),
      llvm_(module.getContext()),
      ctx_(ctx),
      target_(target),
      opt_level_(opt_level),
      b_(module.getContext()) {}

llvm::Function* Emitter::begin_function(const std::string& symbol, llvm::FunctionType* function_type) {
  function_ = llvm::Function::Create(function_type, llvm::Function::ExternalLinkage, symbol, module_);
  function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function_->setDSOLocal(true);
  function_->setDoesNotThrow();
  function_->setAlignment(llvm::Align(artifact::kEntryAlignment));
  function_->addFnAttr("target-cpu", target_.cpu);
  function_->addFnAttr("no-builtins");
  function_->addFnAttr("no-trapping-math", "true");
  if (target_.vector_bytes >= 64) {
    function_->addFnAttr("prefer-vector-width", std::to_string(8 * target_.vector_bytes));
    function_->addFnAttr("min-legal-vector-width", std::to_string(8 * target_.vector_bytes));
  }
  hoist_ = std::make_unique<Hoister>(b_);
  clear_memo();
  b_.SetInsertPoint(llvm::BasicBlock::Create(llvm_, "entry", function_));
  return function_;
}

// The record that the loader looks for directly before the function.
void Emitter::describe_entry(const artifact::Entry& entry) {
  const std::vector<std::byte> record = artifact::encode_entry(entry);
  const llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t*>(record.data()), record.size());
  function_->setPrefixData(llvm::ConstantDataArray::get(llvm_, bytes));
}

void Emitter::bind_buffers(const loop::Function& f, Value* frame) {
  llvm::Type* pointer = b_.getPtrTy();
  auto field = [&](size_t offset) {
    return b_.CreateLoad(pointer, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame, offset));
  };
  Value* buffers = field(offsetof(artifact::KernelFrame, buffers));
  for (size_t i = 0; i < f.params.size(); ++i) {
    BufferState state;
    state.buffer = &f.params[i];
    state.base = b_.CreateLoad(pointer, b_.CreateConstInBoundsGEP1_64(pointer, buffers, i), f.params[i].name);
    PLIANT_CHECK(buffers_.try_emplace(f.params[i].id, state).second) << "parameter " << f.params[i].name << " occurs twice";
  }
  scratch_ = field(offsetof(artifact::KernelFrame, scratch));
  const ScratchLayout layout = scratch_layout(f, ctx_);
  Value* gap = nullptr;
  if (layout.pieces.size() > 1)
    gap = hoist_->define(b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame, offsetof(artifact::KernelFrame, scratch_gap)),
        "gap"));
  for (size_t i = 0; i < layout.pieces.size(); ++i)
    scratch_places_[layout.pieces[i].buffer] = {
        layout.pieces[i].offset, i == 0 ? nullptr : hoist_->mul(gap, hoist_->constant(static_cast<int64_t>(i)))};
  fault_values_ = field(offsetof(artifact::KernelFrame, trap_values));
  bool polls = !polls_.empty();
  loop::for_each(f.body, [&](const loop::Stmt& s) { polls |= s.kind == loop::StmtKind::While; });
  if (!polls) return;
  stop_ = field(offsetof(artifact::KernelFrame, stop));
  stop_ = b_.CreateSelect(b_.CreateIsNull(stop_), zeros(sizeof(int32_t)), stop_);
}

void Emitter::finish_alias_scopes() {
  // Buffers never overlap: each is a scope, and an access of one is not an access of any other. LLVM's time grows with the
  // square of their number: of very many, some that are used far from each other share a scope.
  constexpr size_t kMostScopes = 64;
  if (accesses_.empty()) return;
  llvm::MDBuilder md(llvm_);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain(function_->getName());
  std::map<loop::BufferId, size_t> number;  // in the order of first use
  std::vector<llvm::MDNode*> scope, others;
  for (const auto& [instruction, id] : accesses_)
    if (number.try_emplace(id, number.size()).second && scope.size() < kMostScopes)
      scope.push_back(md.createAnonymousAliasScope(domain, buffers_.at(id).buffer->name));
  for (llvm::MDNode* own : scope) {
    std::vector<llvm::Metadata*> rest;
    std::copy_if(scope.begin(), scope.end(), std::back_inserter(rest), [&](llvm::MDNode* s) { return s != own; });
    others.push_back(llvm::MDNode::get(llvm_, rest));
  }
  for (const auto& [instruction, id] : accesses_) {
    const size_t k = number[id] % scope.size();
    instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, llvm::MDNode::get(llvm_, {scope[k]}));
    instruction->setMetadata(llvm::LLVMContext::MD_noalias, others[k]);
  }
}

void Emitter::emit_kernel(const KernelSource& source, const std::string& symbol) {
  const loop::Function& f = *source.function;
  auto* function_type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
  begin_function(symbol, function_type);
  Value* frame = function_->getArg(0);
  Value* begin = function_->getArg(1);
  Value* end = function_->getArg(2);
  Value* ints = b_.CreateLoad(b_.getPtrTy(),
                              b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame, offsetof(artifact::KernelFrame, ints)));
  for (size_t i = 0; i < source.ints.size(); ++i) {
    const expr::SymbolInfo& info = ctx_.info(source.ints[i]);
    Value* v = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), ints, i), info.name);
    env_[source.ints[i]] = hoist_->define(v);
  }
  polls_ = place_polls(f, ctx_);
  bind_buffers(f, frame);

  // The task grid is one loop.
  const bool has_grid = f.body->kind == loop::StmtKind::For && f.body->for_kind == loop::ForKind::Parallel;
  auto* tasks = llvm::BasicBlock::Create(llvm_, "tasks", function_);
  auto* done = llvm::BasicBlock::Create(llvm_, "done", function_);
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), tasks, done);
  hoist_->enter(tasks);
  emit_iterations("task", begin, end, has_grid ? turn_of(*f.body) : Turn{}, [&](Value* t) {
    if (has_grid) return bind(f.body->var, t, [&] { emit(f.body->body[0]); });
    emit(f.body);
  });
  b_.CreateBr(done);
  hoist_->leave(done);
  // What was streamed is ordered behind nothing that others wait for, unless a fence says so.
  if (has_non_temporal_)
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, llvm::ArrayRef<llvm::Type*>{}, llvm::ArrayRef<Value*>{});
  b_.CreateRet(b_.getInt32(0));
  finish_alias_scopes();
  artifact::Entry entry;
  entry.args = static_cast<uint32_t>(f.params.size());
  entry.ints = static_cast<uint32_t>(source.ints.size());
  for (const loop::Buffer& b : f.params) entry.writes_to.push_back(b.is_output);
  describe_entry(entry);
}

namespace {
constexpr size_t kLongSum = 8;  // terms
constexpr size_t kPartOfShape = 64;
}  // namespace

// LLVM's time grows faster than a block does, and a shape function is one block: long ones call parts of themselves.
void Emitter::emit_shape(const ShapeFunction& source, const std::string& symbol) {
  auto* function_type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
  std::unordered_map<uint32_t, Value*> read;  // by the part, and not written since
  std::set<uint32_t> reads, writes;           // slots
  auto slot = [&](uint64_t i) { return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(0), i); };
  auto read_slot = [&](expr::SymbolId s) -> Value* {
    const auto from = source.symbol_slots.find(s);
    PLIANT_CHECK(from != source.symbol_slots.end())
        << "shape function " << source.name << " reads " << ctx_.info(s).name << ", which has no slot";
    if (writes.count(from->second) == 0) reads.insert(from->second);
    Value*& known = read[from->second];
    if (!known) known = b_.CreateLoad(b_.getInt64Ty(), slot(from->second), ctx_.info(s).name);
    return known;
  };
  // Arithmetic is shared only with the last long sum, so that the sums of ever more terms that the parts of a long
  // concatenation begin at take few operations each.
  auto emit_part = [&](std::span<const Assignment> assignments, const std::string& name) {
    begin_function(name, function_type);
    hoist_->set_straight();
    read.clear();
    std::unordered_map<expr::Dim, Index> dims;
    known_dims_ = &dims;
    read_symbol_ = read_slot;
    const Assignment* sum = nullptr;
    Value *sum_value = nullptr, *sum_overflow = nullptr;
    for (const Assignment& a : assignments) {
      const bool is_long = a.value->terms.size() > kLongSum;
      expr::Dim rest = a.value;
      if (is_long && sum != nullptr && sum->is_size == a.is_size) rest = a.value - sum->value;
      const bool continues = rest->terms.size() * 2 < a.value->terms.size();
      dims.clear();
      hoist_->watch(a.is_size);
      Value* v = uniform_dim(continues ? rest : a.value);
      if (continues) v = hoist_->add(sum_value, v);
      Value* overflow = hoist_->overflow();
      if (continues && sum_overflow != nullptr) overflow = overflow ? b_.CreateOr(overflow, sum_overflow) : sum_overflow;
      if (is_long) sum = &a, sum_value = v, sum_overflow = overflow;
      if (overflow) v = b_.CreateSelect(overflow, hoist_->constant(INT64_MAX), v);
      b_.CreateStore(v, slot(a.slot));
      writes.insert(a.slot);
      read.erase(a.slot);
    }
    b_.CreateRetVoid();
    known_dims_ = nullptr;
    read_symbol_ = {};
    return function_;
  };
  const std::span<const Assignment> all(source.assignments);
  if (all.size() <= kPartOfShape) {
    emit_part(all, symbol);
  } else {
    std::vector<llvm::Function*> parts;
    for (size_t from = 0; from < all.size(); from += kPartOfShape) {
      const size_t count = std::min(kPartOfShape, all.size() - from);
      parts.push_back(emit_part(all.subspan(from, count), symbol + "_" + std::to_string(from)));
      parts.back()->setLinkage(llvm::Function::InternalLinkage);
    }
    begin_function(symbol, function_type);
    for (llvm::Function* part : parts) b_.CreateCall(part, {function_->getArg(0)});
    b_.CreateRetVoid();
  }
  artifact::Entry entry;
  entry.kind = artifact::Entry::Kind::Shape;
  entry.reads.assign(reads.begin(), reads.end());
  entry.writes.assign(writes.begin(), writes.end());
  describe_entry(entry);
}

}  // namespace pliant::codegen
