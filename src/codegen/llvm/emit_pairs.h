// Sums of products of pairs of i16.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "codegen/llvm/hoist.h"

namespace pliant::codegen {

// sum + low(x) * low(y) + high(x) * high(y), lane by lane of vectors of i32, on a machine with vectors of `vector_bytes`.
llvm::Value* add_pair_products(llvm::IRBuilderBase& b, int64_t vector_bytes, llvm::Value* sum, llvm::Value* x,
                               llvm::Value* y);

}  // namespace pliant::codegen
