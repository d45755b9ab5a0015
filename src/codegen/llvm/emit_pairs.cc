#include "codegen/llvm/emit_pairs.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>

namespace pliant::codegen {

using llvm::Value;

Value* add_pair_products(llvm::IRBuilderBase& b, int64_t vector_bytes, Value* sum, Value* x, Value* y) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(sum->getType())->getNumElements();
  unsigned width = static_cast<unsigned>(vector_bytes / 4);
  while (width > 4 && lanes % width != 0) width /= 2;
  if (lanes % width != 0) {
    auto low = [&](Value* v) { return b.CreateAShr(b.CreateShl(v, 16), 16); };
    auto high = [&](Value* v) { return b.CreateAShr(v, 16); };
    return b.CreateAdd(sum, b.CreateAdd(b.CreateMul(low(x), low(y)), b.CreateMul(high(x), high(y))));
  }
  const auto id = width == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                  : width == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                               : llvm::Intrinsic::x86_sse2_pmadd_wd;
  auto* halves = llvm::FixedVectorType::get(b.getInt16Ty(), 2 * width);
  Value* out = llvm::PoisonValue::get(sum->getType());
  for (unsigned first = 0; first < lanes; first += width) {
    std::vector<int> part(width);
    std::iota(part.begin(), part.end(), static_cast<int>(first));
    auto piece = [&](Value* v) { return b.CreateBitCast(b.CreateShuffleVector(v, part), halves); };
    Value* products = b.CreateIntrinsic(id, {}, {piece(x), piece(y)});
    Value* added = b.CreateAdd(b.CreateShuffleVector(sum, part), products);
    if (width == lanes) return added;
    out = b.CreateInsertVector(sum->getType(), out, added, b.getInt64(first));
  }
  return out;
}

}  // namespace pliant::codegen
