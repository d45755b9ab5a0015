// Tensor instructions (target/instruction.h): a Tensor loop is one, on operands loaded from memory; in a vector loop an
// update that one computes is as many as the lanes need.
#include <llvm/Config/llvm-config.h>

#include <numeric>

#include "codegen/llvm/emitter.h"
#include "target/match.h"

namespace pliant::codegen {

using expr::Scalar;
using llvm::Value;
using target::Form;
using target::Instruction;

namespace {

llvm::Intrinsic::ID intrinsic_of(const Form& form) {
#if LLVM_VERSION_MAJOR >= 20
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(form.intrinsic);
#else
  const llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(form.intrinsic);
#endif
  PLIANT_CHECK(id != llvm::Intrinsic::not_intrinsic) << "this LLVM has no " << form.intrinsic;
  return id;
}

// `operands` in the order of the description's params, whose names are `params`; the last one is updated.
Value* call(llvm::IRBuilderBase& b, const Instruction& i, const Form& form, std::vector<Value*> operands) {
  const llvm::Intrinsic::ID id = intrinsic_of(form);
  const std::string params = "abc";
  Value* sum = operands.back();
  const bool overloaded = llvm::Intrinsic::isOverloaded(id);
  std::vector<llvm::Type*> types;
  if (overloaded) types.push_back(sum->getType());
  llvm::FunctionType* type = llvm::Intrinsic::getType(b.getContext(), id, types);
  std::vector<Value*> arguments;
  for (const char name : i.arguments) {
    Value* operand = operands[params.find(name)];
    arguments.push_back(b.CreateBitCast(operand, type->getParamType(static_cast<unsigned>(arguments.size()))));
  }
  Value* result = b.CreateIntrinsic(id, types, arguments);
  result = b.CreateBitCast(result, sum->getType());
  const bool has_sum = i.arguments.find(params[operands.size() - 1]) != std::string::npos;
  return has_sum ? result : b.CreateAdd(sum, result);
}

unsigned lanes_of(Value* v) { return llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements(); }

}  // namespace

std::optional<Emitter::LaneUpdate> Emitter::lane_update(const loop::Stmt& s, DType t) {
  if (opt_level_ == 0 || s.store_kind != loop::StoreKind::Add) return std::nullopt;
  for (const Instruction& i : target::all_instructions()) {
    if (!target::has_lane_form(i, t)) continue;
    const Form* form = target::widest_form(i, target_, lanes_);
    if (!form) continue;
    if (auto operands = target::as_lane_term(i, s.value)) return LaneUpdate{&i, form, *operands};
  }
  return std::nullopt;
}

Value* Emitter::emit_update(const LaneUpdate& u, Value* sum, Value* x, Value* y) {
  const auto width = static_cast<unsigned>(u.form->lanes);
  if (width == 0 || width == lanes_of(sum)) return call(b_, *u.instruction, *u.form, {x, y, sum});
  Value* out = llvm::PoisonValue::get(sum->getType());
  for (unsigned first = 0; first < lanes_of(sum); first += width) {
    std::vector<int> part(width);
    std::iota(part.begin(), part.end(), static_cast<int>(first));
    auto piece = [&](Value* v) { return b_.CreateShuffleVector(v, part); };
    Value *right = piece(y), *left = piece(x), *old = piece(sum);
    Value* updated = call(b_, *u.instruction, *u.form, {left, right, old});
    out = b_.CreateInsertVector(sum->getType(), out, updated, b_.getInt64(first));
  }
  return out;
}

Value* Emitter::operand_address(const target::Operand& o) { return address(buffers_.at(o.buffer->id), index_of(o.base)); }

Value* Emitter::load_operand(const target::Operand& o, int64_t lanes) {
  const BufferState& b = buffers_.at(o.buffer->id);
  int64_t count = 1;
  for (size_t d = static_cast<size_t>(o.first_axis); d < o.shape.size(); ++d) count *= o.shape[d];
  llvm::Type* element = memory_type(o.buffer->dtype);
  llvm::Type* loaded = count == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
  llvm::Instruction* load = b_.CreateAlignedLoad(loaded, operand_address(o), alignment_of(b));
  annotate(load, b, true);
  if (o.first_axis == 0 || lanes == 1) return load;
  // What each lane needs, once for each of them.
  PLIANT_CHECK(o.first_axis == 1) << "an operand for several axes";
  auto* bits = b_.getIntNTy(static_cast<unsigned>(8 * count * byte_size(o.buffer->dtype)));
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes), b_.CreateBitCast(load, count == 1 ? element : bits));
}

void Emitter::emit_tensor(const loop::Stmt& s) {
  clear_memo();
  const Instruction* i = target::find_instruction(s.instruction);
  PLIANT_CHECK(i) << "there is no instruction " << s.instruction;
  std::string why;
  auto find = [&](loop::BufferId id) { return buffers_.at(id).buffer; };
  const auto m = target::match(*i, false, std::make_shared<const loop::Stmt>(s), ctx_, find, why);
  PLIANT_CHECK(m) << "the nest of instruction " << i->name << " computes something else: " << why;
  const Form* form = target::form_of(*i, target_, m->lanes);
  PLIANT_CHECK(form) << "target " << target_.name << " has no " << i->name << " of " << m->lanes << " lanes";
  std::vector<Value*> operands;
  for (const target::Operand& o : m->operands) operands.push_back(load_operand(o, m->lanes));
  const target::Operand& sum = m->operands.back();
  Value* result = call(b_, *i, *form, std::move(operands));
  const BufferState& to = buffers_.at(sum.buffer->id);
  annotate(b_.CreateAlignedStore(result, operand_address(sum), alignment_of(to)), to, false);
  clear_memo();
}

}  // namespace pliant::codegen
