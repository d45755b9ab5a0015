// The task grid of a kernel: its outermost perfectly nested Parallel loops.
#pragma once
#include <vector>

#include "loop/loop.h"

namespace pliant::loop {

// Outermost first, and what they run. Allocs above or between them belong to each task.
struct TaskGrid {
  std::vector<StmtPtr> loops;
  std::vector<StmtPtr> allocs;
  StmtPtr body;
};
TaskGrid task_grid(const Function& f);
// The number of tasks: the product of the grid's extents, 1 without Parallel loops.
Dim task_count(const Function& f, expr::Context& ctx);

}  // namespace pliant::loop
