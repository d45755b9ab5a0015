// Contractions as naive functions, which templates schedule.
#pragma once
#include "lower/contraction/contraction.h"
#include "lower/templates/template.h"

namespace pliant::lower {

// The kernel is for `least_rows` to `most_rows`, where that is null for `least_rows` and more.
Result<LoweredKernel> lower_gemm(const Problem& p, const StageList& list, const te::TensorDef& sum,
                                 const std::vector<te::Tensor>& outputs, const Factors& f, Operand operand, Dim least_rows,
                                 const Temporaries& temporaries, Dim most_rows = {});

}  // namespace pliant::lower
