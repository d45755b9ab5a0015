// Operations on columns: arrays of one scalar's values along a row. f16 and bf16 columns hold floats that are rounded
// already. Columns are allocated in whole blocks of kBlock lanes; cheap kernels compute whole blocks, so lanes past the end
// hold garbage.
#pragma once
#include "expr/expr.h"

namespace pliant::te {

inline constexpr int64_t kBlock = 16;
inline constexpr int64_t kChunk = 512;  // lanes of a column
static_assert(kChunk % kBlock == 0);

// Bytes of one lane.
int64_t lane_bytes(DType t);

using UnaryKernel = void (*)(const void* a, void* out, int64_t n);
using BinaryKernel = void (*)(const void* a, const void* b, void* out, int64_t n);

UnaryKernel unary_kernel(expr::UnaryOp op, DType t);
BinaryKernel binary_kernel(expr::BinaryOp op, DType t);
UnaryKernel cast_kernel(DType to, DType from);
UnaryKernel bitcast_kernel(DType to, DType from);
void select_lanes(DType t, const void* cond, const void* a, const void* b, void* out, int64_t n);
void fma_lanes(DType t, const void* a, const void* b, const void* c, void* out, int64_t n);
// Rounds a column of halves after arithmetic in f32; nothing for other types.
void round_lanes(DType t, void* lanes, int64_t n);
void splat_lanes(DType t, const void* one, void* out, int64_t n);

// Between memory (elements of `t`, `stride` elements apart) and columns.
void load_lanes(DType t, const std::byte* memory, int64_t stride, void* out, int64_t n);
// The elements at `offsets`; zero for a negative offset.
void gather_lanes(DType t, const std::byte* memory, const int64_t* offsets, void* out, int64_t n);
void store_lanes(DType t, const void* lanes, std::byte* memory, int64_t stride, int64_t n);
void set_constant(DType t, uint64_t bits, void* out, int64_t n);

}  // namespace pliant::te
