// Contractions of many rows with a matrix (skinny_gemm.h) that runs along the columns and is read where it lies.
#pragma once
#include <functional>

#include "lower/contraction/contraction.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

bool can_block(expr::Context& ctx, const Factors& f);
// The kernel runs where there are at least `least_rows`.
Result<LoweredKernel> lower_blocked(const Problem& p, const StageList& list, const te::TensorDef& sum,
                                    const std::vector<te::Tensor>& outputs, const Factors& f, Dim least_rows,
                                    const Temporaries& temporaries);

// A choice among tile heights lo..hi by comparing the run-time height.
loop::StmtPtr choose_height(const Dim& height, int64_t lo, int64_t hi, const std::function<loop::StmtPtr(int64_t)>& tile);
// `count` rows from `first` on, in tiles of nearly equal height, at most `most` and known to be at least `least`:
// tile(height, first row).
loop::StmtPtr make_rows(expr::Context& ctx, int64_t least, int64_t most, Dim first, Dim count,
                        const std::function<loop::StmtPtr(int64_t, Dim)>& tile);

}  // namespace pliant::lower
