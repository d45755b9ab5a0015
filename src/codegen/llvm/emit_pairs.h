// Sums of products of the parts of two i32.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <cstdint>

namespace pliant::codegen {

// sum + pair_product(x, y) (expr/pair.h), lane by lane. `vector_bytes`: of the target's vectors.
llvm::Value* add_pair_products(llvm::IRBuilderBase& b, int64_t vector_bytes, llvm::Value* sum, llvm::Value* x,
                               llvm::Value* y);
// sum + quad_product(x, y) (expr/quad.h), lane by lane, on targets that add quads and for lanes that are whole vectors.
bool has_quad_width(int64_t vector_bytes, int64_t lanes);
llvm::Value* add_quad_products(llvm::IRBuilderBase& b, int64_t vector_bytes, llvm::Value* sum, llvm::Value* x,
                               llvm::Value* y);

}  // namespace pliant::codegen
