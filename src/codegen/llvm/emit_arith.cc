// Arithmetic on values, scalar or vector: the semantics of expr/expr.h in LLVM instructions.
#include <llvm/IR/Intrinsics.h>

#include "codegen/llvm/emitter.h"

namespace pliant::codegen {

using expr::BinaryOp;
using expr::UnaryOp;
using llvm::Value;

llvm::Type* Emitter::type(DType t, bool vec) const {
  llvm::Type* element = nullptr;
  switch (t) {
    case DType::Bool: element = llvm::Type::getInt1Ty(llvm_); break;
    case DType::F32: element = llvm::Type::getFloatTy(llvm_); break;
    case DType::F64: element = llvm::Type::getDoubleTy(llvm_); break;
    default: element = llvm::Type::getIntNTy(llvm_, static_cast<unsigned>(8 * byte_size(t))); break;
  }
  return vec ? vector_of(element) : element;
}

llvm::FixedVectorType* Emitter::vector_of(llvm::Type* element) const {
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
}

llvm::Type* Emitter::memory_type(DType t) const { return t == DType::Bool ? llvm::Type::getInt8Ty(llvm_) : type(t, false); }

Value* Emitter::splat(Value* v) { return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), v); }

Value* Emitter::spread(Value* v) {
  return hoist_->pure("splat", {v}, [&] { return splat(v); });
}

Value* Emitter::splat(Val v) { return v.vec ? v.v : splat(v.v); }

Value* Emitter::constant(DType t, uint64_t bits) {
  switch (t) {
    case DType::Bool: return b_.getInt1(bits != 0);
    case DType::F32:
      return llvm::ConstantFP::get(llvm_, llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits & 0xffffffffu)));
    case DType::F64: return llvm::ConstantFP::get(llvm_, llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
    default: {
      const unsigned width = static_cast<unsigned>(8 * byte_size(t));
      const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
      return llvm::ConstantInt::get(type(t, false), bits & mask);
    }
  }
}

namespace {

// Those that have the names of functions of C.
bool is_function(UnaryOp op) {
  return op >= UnaryOp::Exp && op <= UnaryOp::Erf && op != UnaryOp::Sqrt && op != UnaryOp::Rsqrt && op != UnaryOp::Recip;
}

bool is_number_constant(Value* v) {
  auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (!c) return false;
  if (c->getType()->isVectorTy()) c = c->getSplatValue();
  auto* f = llvm::dyn_cast_or_null<llvm::ConstantFP>(c);
  return f && !f->isNaN();
}

}  // namespace

llvm::CmpInst::Predicate predicate_of(BinaryOp op, DType t) {
  using P = llvm::CmpInst;
  const bool f = is_float(t);
  const bool u = is_unsigned_int(t) || t == DType::Bool;
  switch (op) {
    case BinaryOp::Eq: return f ? P::FCMP_OEQ : P::ICMP_EQ;
    case BinaryOp::Ne: return f ? P::FCMP_UNE : P::ICMP_NE;
    case BinaryOp::Lt: return f ? P::FCMP_OLT : u ? P::ICMP_ULT : P::ICMP_SLT;
    case BinaryOp::Le: return f ? P::FCMP_OLE : u ? P::ICMP_ULE : P::ICMP_SLE;
    case BinaryOp::Gt: return f ? P::FCMP_OGT : u ? P::ICMP_UGT : P::ICMP_SGT;
    default: return f ? P::FCMP_OGE : u ? P::ICMP_UGE : P::ICMP_SGE;
  }
}

Value* Emitter::call_math(const char* name, std::vector<Value*> args) {
  llvm::Type* f64 = b_.getDoubleTy();
  auto* function_type = llvm::FunctionType::get(f64, std::vector<llvm::Type*>(args.size(), f64), false);
  llvm::FunctionCallee callee = module_.getOrInsertFunction(name, function_type);
  auto* f = llvm::cast<llvm::Function>(callee.getCallee());
  f->setDoesNotThrow();
  f->setDoesNotAccessMemory();
  f->addFnAttr(llvm::Attribute::WillReturn);
  if (!args[0]->getType()->isVectorTy()) return b_.CreateCall(callee, args);
  Value* out = llvm::PoisonValue::get(args[0]->getType());
  for (int64_t i = 0; i < lanes_; ++i) {
    std::vector<Value*> lane;
    for (Value* a : args) lane.push_back(b_.CreateExtractElement(a, static_cast<uint64_t>(i)));
    out = b_.CreateInsertElement(out, b_.CreateCall(callee, lane), static_cast<uint64_t>(i));
  }
  return out;
}

Value* Emitter::unary(UnaryOp op, DType t, Value* x) {
  llvm::Type* ty = x->getType();
  const bool is_f = is_float(t);
  auto intrinsic = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  switch (op) {
    case UnaryOp::Neg: return is_f ? b_.CreateFNeg(x) : b_.CreateNeg(x);
    case UnaryOp::Not: return b_.CreateNot(x);
    case UnaryOp::BitNot: return b_.CreateNot(x);
    case UnaryOp::Abs:
      if (is_f) return intrinsic(llvm::Intrinsic::fabs);
      if (!is_signed_int(t)) return x;
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getInt1(false));
    case UnaryOp::Sign: {
      Value* zero = llvm::Constant::getNullValue(ty);
      if (is_f) {
        // ±1 by sign; zero and NaN stay themselves.
        Value* one = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(ty, 1.0), x);
        return b_.CreateSelect(b_.CreateFCmpONE(x, zero), one, x);
      }
      Value* positive = b_.CreateZExt(is_signed_int(t) ? b_.CreateICmpSGT(x, zero) : b_.CreateICmpUGT(x, zero), ty);
      if (!is_signed_int(t)) return positive;
      return b_.CreateSelect(b_.CreateICmpSLT(x, zero), llvm::Constant::getAllOnesValue(ty), positive);
    }
    case UnaryOp::Sqrt: return intrinsic(llvm::Intrinsic::sqrt);
    case UnaryOp::Floor: return is_f ? intrinsic(llvm::Intrinsic::floor) : x;
    case UnaryOp::Ceil: return is_f ? intrinsic(llvm::Intrinsic::ceil) : x;
    case UnaryOp::Round: return is_f ? intrinsic(llvm::Intrinsic::roundeven) : x;
    case UnaryOp::Trunc: return is_f ? intrinsic(llvm::Intrinsic::trunc) : x;
    case UnaryOp::IsNan: return is_f ? b_.CreateFCmpUNO(x, x) : llvm::Constant::getNullValue(b_.CreateIsNull(x)->getType());
    case UnaryOp::IsInf:
      if (!is_f) return llvm::Constant::getNullValue(b_.CreateIsNull(x)->getType());
      return b_.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs), llvm::ConstantFP::getInfinity(ty));
    default: break;
  }
  PLIANT_CHECK(is_function(op) && t == DType::F64)
      << "unary " << expr::name_of(op) << " of " << pliant::name_of(t) << " was not legalised";
  return call_math(expr::name_of(op), {x});
}

Value* Emitter::extremum(bool max, DType t, Value* x, Value* y) {
  if (is_float(t)) {
    // `x > y ? x : y` gives y when either is NaN, as the machine's instruction does: only a NaN in x needs care.
    if (is_number_constant(y)) std::swap(x, y);
    if (is_number_constant(x)) return b_.CreateSelect(max ? b_.CreateFCmpOGT(x, y) : b_.CreateFCmpOLT(x, y), x, y);
    Value* m = b_.CreateBinaryIntrinsic(max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, x, y);
    if (auto* call = llvm::dyn_cast<llvm::Instruction>(m)) call->setHasNoSignedZeros(true);
    return m;
  }
  const bool is_signed = is_signed_int(t);
  const auto id = max ? (is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax)
                      : (is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
  return b_.CreateBinaryIntrinsic(id, x, y);
}

Value* Emitter::float_binary(BinaryOp op, DType t, Value* x, Value* y) {
  switch (op) {
    case BinaryOp::Add: return b_.CreateFAdd(x, y);
    case BinaryOp::Sub: return b_.CreateFSub(x, y);
    case BinaryOp::Mul: return b_.CreateFMul(x, y);
    case BinaryOp::Div: return b_.CreateFDiv(x, y);
    case BinaryOp::Rem: return b_.CreateFRem(x, y);
    case BinaryOp::Pow:
    case BinaryOp::Atan2:
      if (t == DType::F64) return call_math(expr::name_of(op), {x, y});
      break;
    default: break;
  }
  PLIANT_CHECK(false) << "binary " << expr::name_of(op) << " of " << pliant::name_of(t) << " was not legalised";
  return nullptr;
}

Value* Emitter::int_divide(BinaryOp op, DType t, Value* x, Value* y) {
  llvm::Type* ty = x->getType();
  const bool is_signed = is_signed_int(t);
  Value* zero = llvm::Constant::getNullValue(ty);
  Value* one = llvm::ConstantInt::get(ty, 1);
  Value* by_zero = b_.CreateICmpEQ(y, zero);
  if (!is_signed) {
    Value* safe = b_.CreateSelect(by_zero, one, y);
    if (op == BinaryOp::Div) return b_.CreateSelect(by_zero, zero, b_.CreateUDiv(x, safe));
    return b_.CreateSelect(by_zero, zero, b_.CreateURem(x, safe));
  }
  // Division by -1 overflows for the lowest value, so it is a negation; its remainder is 0, as is that by 0.
  Value* by_minus_one = b_.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(ty));
  Value* special = b_.CreateOr(by_zero, by_minus_one);
  Value* safe = b_.CreateSelect(special, one, y);
  if (op == BinaryOp::Div) {
    Value* q = b_.CreateSDiv(x, safe);
    return b_.CreateSelect(by_zero, zero, b_.CreateSelect(by_minus_one, b_.CreateNeg(x), q));
  }
  Value* r = b_.CreateSRem(x, safe);  // 0 for the special divisors
  if (op == BinaryOp::Rem) return r;
  // Mod takes the divisor's sign.
  Value* differs = b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, y), zero));
  return b_.CreateSelect(differs, b_.CreateAdd(r, y), r);
}

Value* Emitter::int_power(DType t, Value* x, Value* y) {
  // Square and multiply, one function for all widths: powers wrap, so the low bits of the 64-bit result are right.
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Function* f = module_.getFunction("int_power");
  if (!f) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    f = llvm::Function::Create(llvm::FunctionType::get(i64, {i64, i64}, false), llvm::Function::InternalLinkage, "int_power",
                               module_);
    f->setDoesNotThrow();
    f->copyAttributesFrom(function_);
    f->setLinkage(llvm::Function::InternalLinkage);
    auto* entry = llvm::BasicBlock::Create(llvm_, "entry", f);
    auto* loop = llvm::BasicBlock::Create(llvm_, "loop", f);
    auto* done = llvm::BasicBlock::Create(llvm_, "done", f);
    b_.SetInsertPoint(entry);
    Value* none = b_.CreateIsNull(f->getArg(1));
    b_.CreateCondBr(none, done, loop);
    b_.SetInsertPoint(loop);
    auto* result = b_.CreatePHI(i64, 2);
    auto* base = b_.CreatePHI(i64, 2);
    auto* n = b_.CreatePHI(i64, 2);
    Value* next = b_.CreateSelect(b_.CreateTrunc(n, b_.getInt1Ty()), b_.CreateMul(result, base), result);
    Value* square = b_.CreateMul(base, base);
    Value* half = b_.CreateLShr(n, 1);
    result->addIncoming(b_.getInt64(1), entry);
    result->addIncoming(next, loop);
    base->addIncoming(f->getArg(0), entry);
    base->addIncoming(square, loop);
    n->addIncoming(f->getArg(1), entry);
    n->addIncoming(half, loop);
    b_.CreateCondBr(b_.CreateIsNull(half), done, loop);
    b_.SetInsertPoint(done);
    auto* out = b_.CreatePHI(i64, 2);
    out->addIncoming(b_.getInt64(1), entry);
    out->addIncoming(next, loop);
    b_.CreateRet(out);
  }
  auto widen = [&](Value* v) { return is_signed_int(t) ? b_.CreateSExt(v, i64) : b_.CreateZExt(v, i64); };
  Value* power = nullptr;
  if (!x->getType()->isVectorTy()) {
    power = b_.CreateTrunc(b_.CreateCall(f, {widen(x), widen(y)}), x->getType());
  } else {
    power = llvm::PoisonValue::get(x->getType());
    for (int64_t i = 0; i < lanes_; ++i) {
      const uint64_t lane = static_cast<uint64_t>(i);
      Value* p = b_.CreateCall(f, {widen(b_.CreateExtractElement(x, lane)), widen(b_.CreateExtractElement(y, lane))});
      power = b_.CreateInsertElement(power, b_.CreateTrunc(p, type(t, false)), lane);
    }
  }
  if (!is_signed_int(t)) return power;
  // A negative power is 1 / x^n: 0 unless x is 1 or -1.
  llvm::Type* ty = x->getType();
  Value* zero = llvm::Constant::getNullValue(ty);
  Value* one = llvm::ConstantInt::get(ty, 1);
  Value* minus_one = llvm::Constant::getAllOnesValue(ty);
  Value* is_odd = b_.CreateICmpNE(b_.CreateAnd(y, one), zero);
  Value* of_minus_one = b_.CreateSelect(is_odd, minus_one, one);
  Value* of_unit =
      b_.CreateSelect(b_.CreateICmpEQ(x, one), one, b_.CreateSelect(b_.CreateICmpEQ(x, minus_one), of_minus_one, zero));
  return b_.CreateSelect(b_.CreateICmpSLT(y, zero), of_unit, power);
}

Value* Emitter::binary(BinaryOp op, DType t, Value* x, Value* y) {
  const bool is_f = is_float(t);
  if (expr::is_comparison(op)) {
    const llvm::CmpInst::Predicate p = predicate_of(op, t);
    return is_f ? b_.CreateFCmp(p, x, y) : b_.CreateICmp(p, x, y);
  }
  if (op == BinaryOp::Max || op == BinaryOp::Min) return extremum(op == BinaryOp::Max, t, x, y);
  if (is_f) return float_binary(op, t, x, y);
  const uint64_t width = static_cast<uint64_t>(8 * byte_size(t));
  switch (op) {
    case BinaryOp::Add: return t == DType::Bool ? b_.CreateOr(x, y) : b_.CreateAdd(x, y);
    case BinaryOp::Sub: return t == DType::Bool ? b_.CreateXor(x, y) : b_.CreateSub(x, y);
    case BinaryOp::Mul: return t == DType::Bool ? b_.CreateAnd(x, y) : b_.CreateMul(x, y);
    case BinaryOp::Div:
    case BinaryOp::Mod:
    case BinaryOp::Rem: return int_divide(op, t, x, y);
    case BinaryOp::Pow: return int_power(t, x, y);
    case BinaryOp::And:
    case BinaryOp::BitAnd: return b_.CreateAnd(x, y);
    case BinaryOp::Or:
    case BinaryOp::BitOr: return b_.CreateOr(x, y);
    case BinaryOp::Xor:
    case BinaryOp::BitXor: return b_.CreateXor(x, y);
    case BinaryOp::Shl:
    case BinaryOp::Shr: {
      // Amounts outside [0, width) shift everything out.
      Value* last = llvm::ConstantInt::get(x->getType(), width - 1);
      Value* too_far = b_.CreateICmpUGT(y, last);
      if (op == BinaryOp::Shr && is_signed_int(t)) return b_.CreateAShr(x, b_.CreateSelect(too_far, last, y));
      Value* amount = b_.CreateSelect(too_far, llvm::Constant::getNullValue(x->getType()), y);
      Value* shifted = op == BinaryOp::Shl ? b_.CreateShl(x, amount) : b_.CreateLShr(x, amount);
      return b_.CreateSelect(too_far, llvm::Constant::getNullValue(x->getType()), shifted);
    }
    default: break;
  }
  PLIANT_CHECK(false) << "binary " << expr::name_of(op) << " of " << pliant::name_of(t) << " has no emission";
  return nullptr;
}

// The type of `x` with other elements.
static llvm::Type* shaped_like(Value* x, llvm::Type* element) {
  auto* v = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return v ? llvm::FixedVectorType::get(element, v->getNumElements()) : element;
}

Value* Emitter::widen_half(DType t, Value* x) {
  llvm::Type* f32 = shaped_like(x, b_.getFloatTy());
  if (t == DType::F16) return b_.CreateFPExt(b_.CreateBitCast(x, shaped_like(x, b_.getHalfTy())), f32);
  return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(x, shaped_like(x, b_.getInt32Ty())), 16), f32);
}

Value* Emitter::narrow_half(DType t, Value* x) {
  llvm::Type* i16 = shaped_like(x, b_.getInt16Ty());
  if (t == DType::F16) return b_.CreateBitCast(b_.CreateFPTrunc(x, shaped_like(x, b_.getHalfTy())), i16);
  // bf16: half of the last place is added, less one for ties on an even result; a NaN is made quiet instead.
  llvm::Type* i32 = shaped_like(x, b_.getInt32Ty());
  auto number = [&](uint64_t n) { return llvm::ConstantInt::get(i32, n); };
  Value* bits = b_.CreateBitCast(x, i32);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), number(1));
  Value* rounded = b_.CreateAdd(b_.CreateAdd(bits, number(0x7fff)), odd);
  Value* quiet = b_.CreateOr(bits, number(0x400000));
  Value* chosen = b_.CreateSelect(b_.CreateFCmpUNO(x, x), quiet, rounded);
  return b_.CreateTrunc(b_.CreateLShr(chosen, 16), i16);
}

Value* Emitter::saturate(DType to, Value* x) {
  // Saturating conversions of vectors are taken apart by LLVM: here the float is brought next to the limits, what it cannot
  // express of them is selected.
  const bool is_signed = is_signed_int(to);
  const unsigned bits = static_cast<unsigned>(8 * byte_size(to));
  llvm::Type* floats = x->getType();
  const llvm::fltSemantics& format = floats->getScalarType()->getFltSemantics();
  const llvm::APInt low = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getZero(bits);
  const llvm::APInt high = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  auto limit = [&](const llvm::APInt& v) {
    llvm::APFloat f(format);
    const auto status = f.convertFromAPInt(v, is_signed, llvm::APFloat::rmTowardZero);
    return std::make_pair(llvm::ConstantFP::get(floats, f), status == llvm::APFloat::opOK);
  };
  const auto lowest = limit(low).first;
  const auto [highest, high_exact] = limit(high);
  // The comparisons are false for NaN, which becomes the lower limit.
  Value* inside = b_.CreateSelect(b_.CreateFCmpOGT(x, lowest), x, lowest);
  inside = b_.CreateSelect(b_.CreateFCmpOLT(inside, highest), inside, highest);
  // Narrow integers by way of 32 bits.
  llvm::Type* wide = llvm::VectorType::get(b_.getIntNTy(std::max(bits, 32U)), llvm::cast<llvm::VectorType>(floats));
  Value* v = is_signed || bits < 32 ? b_.CreateFPToSI(inside, wide) : b_.CreateFPToUI(inside, wide);
  v = b_.CreateTrunc(v, type(to, true));
  if (!high_exact) v = b_.CreateSelect(b_.CreateFCmpOGT(x, highest), llvm::ConstantInt::get(v->getType(), high), v);
  if (is_signed) v = b_.CreateSelect(b_.CreateFCmpUNO(x, x), llvm::Constant::getNullValue(v->getType()), v);
  return v;
}

Value* Emitter::cast(DType to, DType from, Value* x) {
  if (to == from) return x;
  const bool vec = x->getType()->isVectorTy();
  llvm::Type* target = type(to, vec);
  if (to == DType::Bool) {
    if (from == DType::F16 || from == DType::BF16) return cast(to, DType::F32, widen_half(from, x));
    if (is_float(from)) return b_.CreateFCmpUNE(x, llvm::Constant::getNullValue(x->getType()));
    return b_.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
  }
  if (from == DType::F16 || from == DType::BF16) return cast(to, DType::F32, widen_half(from, x));
  if (to == DType::F16 || to == DType::BF16) {
    PLIANT_CHECK(from == DType::F32 || byte_size(from) <= 2)
        << "cast of " << pliant::name_of(from) << " to a half was not legalised";
    return narrow_half(to, cast(DType::F32, from, x));
  }
  if (is_float(from) && is_float(to)) return to == DType::F64 ? b_.CreateFPExt(x, target) : b_.CreateFPTrunc(x, target);
  if (is_float(from)) {
    if (vec) return saturate(to, x);
    const auto id = is_signed_int(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, {target, x->getType()}, {x});
  }
  const bool from_signed = is_signed_int(from);
  if (is_float(to)) return from_signed ? b_.CreateSIToFP(x, target) : b_.CreateUIToFP(x, target);
  return from_signed ? b_.CreateSExtOrTrunc(x, target) : b_.CreateZExtOrTrunc(x, target);
}

Value* Emitter::combine(loop::StoreKind k, DType t, Value* old, Value* value) {
  if (t == DType::F16 || t == DType::BF16) {
    return narrow_half(t, combine(k, DType::F32, widen_half(t, old), widen_half(t, value)));
  }
  const std::optional<BinaryOp> op = loop::update_of(k);
  return op ? binary(*op, t, old, value) : value;
}

Value* Emitter::reduce_lanes(loop::StoreKind k, DType t, Value* v) {
  // Halves together, then halves of the rest: a tree, the same at every width of the machine.
  int64_t n = lanes_;
  while (n > 1 && n % 2 == 0) {
    n /= 2;
    std::vector<int> low, high;
    for (int64_t i = 0; i < n; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(i + n));
    }
    v = combine(k, t, b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
  }
  Value* out = b_.CreateExtractElement(v, uint64_t{0});
  for (int64_t i = 1; i < n; ++i) out = combine(k, t, out, b_.CreateExtractElement(v, static_cast<uint64_t>(i)));
  return out;
}

}  // namespace pliant::codegen
