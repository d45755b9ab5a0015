#include "codegen/llvm/emit_pairs.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <functional>
#include <numeric>

namespace pliant::codegen {

using llvm::Value;

namespace {

// The widest vector of i32 that `lanes` are whole numbers of; 0 for none of four or more.
unsigned piece_lanes(int64_t vector_bytes, unsigned lanes) {
  unsigned width = static_cast<unsigned>(vector_bytes / 4);
  while (width > 4 && lanes % width != 0) width /= 2;
  return lanes % width == 0 ? width : 0;
}

unsigned lanes_of(Value* v) { return llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements(); }

// add(sum, x, y) over pieces of `width` lanes.
Value* by_pieces(llvm::IRBuilderBase& b, unsigned width, Value* sum, Value* x, Value* y,
                 const std::function<Value*(Value*, Value*, Value*)>& add) {
  const unsigned lanes = lanes_of(sum);
  if (width == lanes) return add(sum, x, y);
  Value* out = llvm::PoisonValue::get(sum->getType());
  for (unsigned first = 0; first < lanes; first += width) {
    std::vector<int> part(width);
    std::iota(part.begin(), part.end(), static_cast<int>(first));
    auto piece = [&](Value* v) { return b.CreateShuffleVector(v, part); };
    out = b.CreateInsertVector(sum->getType(), out, add(piece(sum), piece(x), piece(y)), b.getInt64(first));
  }
  return out;
}

}  // namespace

Value* add_pair_products(llvm::IRBuilderBase& b, int64_t vector_bytes, Value* sum, Value* x, Value* y) {
  const unsigned width = piece_lanes(vector_bytes, lanes_of(sum));
  if (width == 0) {
    auto low = [&](Value* v) { return b.CreateAShr(b.CreateShl(v, 16), 16); };
    auto high = [&](Value* v) { return b.CreateAShr(v, 16); };
    return b.CreateAdd(sum, b.CreateAdd(b.CreateMul(low(x), low(y)), b.CreateMul(high(x), high(y))));
  }
  const auto id = width == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                  : width == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                               : llvm::Intrinsic::x86_sse2_pmadd_wd;
  auto* halves = llvm::FixedVectorType::get(b.getInt16Ty(), 2 * width);
  return by_pieces(b, width, sum, x, y, [&](Value* s, Value* p, Value* q) {
    return b.CreateAdd(s, b.CreateIntrinsic(id, {}, {b.CreateBitCast(p, halves), b.CreateBitCast(q, halves)}));
  });
}

bool has_quad_width(int64_t vector_bytes, int64_t lanes) {
  return piece_lanes(vector_bytes, static_cast<unsigned>(lanes)) != 0;
}

Value* add_quad_products(llvm::IRBuilderBase& b, int64_t vector_bytes, Value* sum, Value* x, Value* y) {
  const unsigned width = piece_lanes(vector_bytes, lanes_of(sum));
  const auto id = width == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                  : width == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                               : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  // Releases of LLVM differ in whether its operands are vectors of i32 or of bytes.
  llvm::Type* operand = llvm::Intrinsic::getType(b.getContext(), id)->getParamType(1);
  return by_pieces(b, width, sum, x, y, [&](Value* s, Value* p, Value* q) -> Value* {
    return b.CreateIntrinsic(id, {}, {s, b.CreateBitCast(p, operand), b.CreateBitCast(q, operand)});
  });
}

}  // namespace pliant::codegen
