// x * 2^n, which the rewrite of exponentials writes as products with two powers of half the exponent: one instruction where
// the machine has it. Both round once.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "codegen/llvm/emitter.h"

namespace pliant::codegen {

using expr::BinaryOp;
using expr::Scalar;
using expr::ScalarKind;
using llvm::Value;

namespace {

bool is_binary(Scalar s, BinaryOp op) { return s->kind == ScalarKind::Binary && s->binary() == op; }
bool is_const(Scalar s, int64_t n) { return s->kind == ScalarKind::Const && static_cast<int64_t>(s->bits) == n; }

// k of the float whose bits are (k + bias) << mantissa.
Scalar exponent_of_power(Scalar s, int64_t mantissa, int64_t bias) {
  if (s->kind != ScalarKind::Bitcast || !is_binary(s->args[0], BinaryOp::Shl)) return {};
  const Scalar sum = s->args[0]->args[0];
  if (!is_const(s->args[0]->args[1], mantissa) || !is_binary(sum, BinaryOp::Add) || !is_const(sum->args[1], bias)) return {};
  return sum->args[0];
}

}  // namespace

Value* Emitter::emit_scale(Scalar s) {
  const bool is_f32 = s.dtype() == DType::F32;
  const int64_t width = is_f32 ? 16 : 8;
  if (!lanes_ || lanes_ % width != 0 || (!is_f32 && s.dtype() != DType::F64) || !is_binary(s->args[0], BinaryOp::Mul) ||
      std::find(target_.features.begin(), target_.features.end(), "avx512f") == target_.features.end())
    return nullptr;
  const int64_t mantissa = is_f32 ? 23 : 52, bias = is_f32 ? 127 : 1023;
  const Scalar first = exponent_of_power(s->args[0]->args[1], mantissa, bias);
  const Scalar second = exponent_of_power(s->args[1], mantissa, bias);
  if (!first || !second || !is_binary(first, BinaryOp::Shr) || !is_const(first->args[1], 1)) return nullptr;
  const Scalar n = first->args[0];
  if (!is_binary(second, BinaryOp::Sub) || !(second->args[0] == n) || !(second->args[1] == first)) return nullptr;
  // n is the difference of the bits of two floats that differ by a whole number below 2^mantissa.
  if (!is_binary(n, BinaryOp::Sub) || n->args[0]->kind != ScalarKind::Bitcast || n->args[1]->kind != ScalarKind::Const)
    return nullptr;
  const Scalar shifted = n->args[0]->args[0];
  if (shifted.dtype() != s.dtype()) return nullptr;
  const Val exponent = emit(shifted - expr::make_const_bits(ctx_, s.dtype(), n->args[1]->bits));
  const Val x = emit(s->args[0]->args[0]);
  if (!x.vec || !exponent.vec) return nullptr;
  const auto id = is_f32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512 : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512;
  Value* all = b_.getIntN(static_cast<unsigned>(width), (uint64_t{1} << width) - 1);
  std::vector<Value*> parts;
  for (int64_t at = 0; at < lanes_; at += width) {
    std::vector<int> piece;
    for (int64_t i = 0; i < width; ++i) piece.push_back(static_cast<int>(at + i));
    Value* part = lanes_ == width ? x.v : b_.CreateShuffleVector(x.v, piece);
    Value* power = lanes_ == width ? exponent.v : b_.CreateShuffleVector(exponent.v, piece);
    parts.push_back(b_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>{}, {part, power, part, all, b_.getInt32(4)}));
  }
  return llvm::concatenateVectors(b_, parts);
}

}  // namespace pliant::codegen
