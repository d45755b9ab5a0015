// Contractions of many rows with a matrix (skinny_gemm.h) that runs along the columns and is read where it lies.
#pragma once
#include "lower/contraction/contraction.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

bool can_block(expr::Context& ctx, const Factors& f);
// The kernel runs where there are at least `least_rows`.
Result<LoweredKernel> lower_blocked(const Problem& p, const StageList& list, const te::TensorDef& sum,
                                    const std::vector<te::Tensor>& outputs, const Factors& f, Dim least_rows,
                                    const Temporaries& temporaries);

}  // namespace pliant::lower
