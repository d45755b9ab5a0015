// Reductions vectorised along the output's innermost axis, over tiles of rows by columns: pooling windows, depthwise
// convolutions, reductions of outer axes.
#pragma once
#include "lower/stage_kernels.h"

namespace pliant::lower {

struct Window {
  expr::Context& ctx;
  const te::TensorDef& sum;
  Scalar body;               // flat, guards included
  std::vector<Loop> reduce;  // outermost first
  Loop col;                  // the vector loop
  std::optional<Loop> row;   // the loop around it
  int64_t lanes;
  std::function<loop::StmtPtr(const expr::DimMap& at, Scalar total)> store;
  // The part to compute; all of it when null.
  Dim col_first{}, col_count{}, row_first{}, row_count{};
};
loop::StmtPtr make_window(const Window& w);

}  // namespace pliant::lower
