// Maps whose operands are broadcast as the run decides: which neighbouring loops merge is decided at run time as well.
#pragma once

#include "lower/nest.h"

namespace pliant::lower {

// Takes loops apart over whose variable `i` some load has mod(i, n) or floordiv(i, n), where n divides the extent: what such
// loads read then are runs of n elements.
void split_repeats(expr::Context& ctx, Nest& nest, int64_t lanes);
// Whether every offset of the nest is linear in its loops and runs or stays along the last of them, and some load repeats
// along a loop, always or where a size is 1 at run time.
bool merges_at_run_time(expr::Context& ctx, const Nest& nest, int64_t lanes);

// The loop of tasks, and what one of them does.
struct Runs {
  Loop tasks;
  loop::StmtPtr body;
};
// The nest as tasks of `chunk` points in row-major order. Loops from the innermost outwards over which all offsets go on
// evenly make one long run; the loops outside are taken from the number of the run. `point` builds the statements of one
// point of a nest of one loop, at the index that it gets.
using MakePoint = std::function<loop::StmtPtr(const Nest& flat, SymbolId var, Dim at)>;
Runs make_runs(expr::Context& ctx, const Nest& nest, int64_t chunk, int64_t lanes, Tail tail, const MakePoint& point);

}  // namespace pliant::lower
