// Reduction loops cut to the range that their guards leave.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "lower/stages.h"

namespace pliant::lower {

// An i64 that is a position, a size or a constant.
std::optional<Dim> as_dim(Scalar s);
// `term` as slack >= 0; nothing where it says anything else.
std::optional<Dim> slack_of(Scalar term);

// All of them; null for none.
Scalar conjunction_of(const std::vector<Scalar>& terms);

struct Clip {
  Dim first, end;
};
struct Clipped {
  std::vector<std::optional<Clip>> clips;  // one a loop
  std::vector<Scalar> rest;                // the terms that are still to be asked at each point
};
// A term that bounds one of the loops alone, at whatever the variables of other loops are, cuts that loop. Terms that use
// `apart` stay.
Clipped clip_loops(expr::Context& ctx, const std::vector<Loop>& loops, const std::vector<Scalar>& terms,
                   std::optional<SymbolId> apart = {});
// `body`, which is over the loop's variable, at the positions that are left; `make_loop` makes a loop around its body.
loop::StmtPtr make_clipped(expr::Context& ctx, const Loop& l, const Clip& clip, loop::StmtPtr body,
                           const std::function<loop::StmtPtr(const Loop&, loop::StmtPtr)>& make_loop);

// A guarded sum over cut loops: `loops` and `body` in the place of the reduction's own, inside what `bind` puts around.
struct ClippedReduction {
  std::vector<Loop> loops;
  Scalar body;
  std::function<loop::StmtPtr(loop::StmtPtr)> bind;
};
// Nothing where no loop is cut.
std::optional<ClippedReduction> clip_reduction(expr::Context& ctx, te::Combiner combiner, DType accumulate, Scalar body,
                                               const std::vector<Loop>& loops);
// Whether positions along `column` have ranges of the loops that follow no line: those that the run reads.
bool has_ragged_ranges(expr::Context& ctx, te::Combiner combiner, DType accumulate, Scalar body,
                       const std::vector<Loop>& loops, SymbolId column);

}  // namespace pliant::lower
