// The register-tiled kernel of a contraction.
#pragma once
#include "lower/contraction/contraction.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

// Parallel blocks of rows and panels of columns; in each, tiles of at most Target::tile_rows rows by one panel whose sums
// stay in registers while the reduction runs; every tile height is generated and rows are split evenly, so that no row count
// is special. The kernel runs where there are at least `least_rows`.
Result<LoweredKernel> lower_tiles(const Problem& p, const StageList& list, const te::TensorDef& sum,
                                  const std::vector<te::Tensor>& outputs, const Factors& f, Operand operand, Dim least_rows,
                                  const Temporaries& temporaries);
// A choice among tile heights lo..hi by comparing the run-time height.
loop::StmtPtr choose_height(const Dim& height, int64_t lo, int64_t hi, const std::function<loop::StmtPtr(int64_t)>& tile);
// `count` rows from `first` on, in tiles of nearly equal height, at most `most` and known to be at least `least`:
// tile(height, first row).
loop::StmtPtr make_rows(expr::Context& ctx, int64_t least, int64_t most, Dim first, Dim count,
                        const std::function<loop::StmtPtr(int64_t, Dim)>& tile);

}  // namespace pliant::lower
