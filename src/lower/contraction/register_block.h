// Small blocks of values that lie in registers, rearranged by shuffles of whole vectors.
#pragma once
#include <functional>

#include "loop/loop.h"
#include "lower/nest.h"

namespace pliant::lower {

using BlockFill = std::function<loop::StmtPtr(loop::BufferId)>;

// `fill` writes a block of `n` vectors of `n` elements, row by row; `use` reads it with rows and columns exchanged. `n` is a
// power of two.
loop::StmtPtr make_transposed(expr::Context& ctx, DType t, int64_t n, const BlockFill& fill, const BlockFill& use);

// `parts` holds `sums` groups of `partials` neighbouring elements, a power of two; `use` reads the sum of each group, one
// after the other. Vectors have `lanes` elements.
loop::StmtPtr make_folded(expr::Context& ctx, DType t, loop::BufferId parts, int64_t sums, int64_t partials, int64_t lanes,
                          const BlockFill& use);

}  // namespace pliant::lower
