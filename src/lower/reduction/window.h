// Reductions vectorised along the output's innermost axis, over tiles of rows by columns: pooling windows, depthwise
// convolutions, reductions of outer axes.
#pragma once
#include "lower/reduction/halo_tile.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

struct WindowNest {
  expr::Context& ctx;
  const te::TensorDef& sum;
  Scalar body;                   // flat, guards included
  std::vector<Loop> reduce;      // outermost first
  AxisRange col;                 // the vector loop
  std::optional<AxisRange> row;  // the loop around it
  int64_t lanes;
  std::function<loop::StmtPtr(const expr::DimMap& at, Scalar total)> store;
  bool slides = false;        // neighbouring columns read the same elements
  bool reads_beyond = false;  // up to a whole vector of columns may be read behind the last
  int64_t vectors = 4;        // of columns at a time where there are no rows
  bool may_repeat = false;    // columns may be computed and stored twice
};
loop::StmtPtr make_window(const WindowNest& w);

}  // namespace pliant::lower
