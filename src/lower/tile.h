// The register-tiled kernel of a contraction.
#pragma once
#include "lower/contraction.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

// Parallel blocks of rows and panels of columns; in each, tiles of at most Target::tile_rows rows by one panel whose sums
// stay in registers while the reduction runs; every tile height is generated and rows are split evenly, so that no row count
// is special.
Result<LoweredKernel> lower_tiles(const Problem& p, const StageList& list, const te::TensorDef& sum,
                                  const std::vector<te::Tensor>& outputs, const Factors& f, Operand operand,
                                  const Temporaries& temporaries);

}  // namespace pliant::lower
