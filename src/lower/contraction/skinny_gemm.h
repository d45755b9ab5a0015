// Contractions of a few rows: the work is to read the matrix, once and in the order in which it lies in memory.
#pragma once
#include "lower/contraction/contraction.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

// How b runs in memory.
enum class Runs : uint8_t { AlongColumns, AlongReduction, Neither };
Runs runs_of(expr::Context& ctx, const Factors& f);

// One reduction loop, and b is a matrix whose rows (or columns) lie one after the other: no window in which they overlap.
bool is_matrix(expr::Context& ctx, const Factors& f);

// Whether the template of few rows (templates/skinny_gemm.cc) can do it: b runs in memory, and a alongside where b runs
// along the reduction; every row is of one matrix.
bool fits_skinny_gemm(expr::Context& ctx, const Factors& f);
// The most rows of each of its kernels. With more than the last a tile that b is laid out anew for is faster.
std::vector<Dim> rows_of_versions(expr::Context& ctx, const target::Target& target, const Factors& f);

}  // namespace pliant::lower
