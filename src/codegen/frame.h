// What a kernel asks of the runtime: its task grid and its scratch memory, as Dims over the kernel's integer arguments.
#pragma once
#include <vector>

#include "loop/loop.h"

namespace pliant::codegen {

// The outermost perfectly nested Parallel loops, outermost first, and what they run. Allocs above or between them belong to
// each task.
struct TaskGrid {
  std::vector<loop::StmtPtr> loops;
  std::vector<loop::StmtPtr> allocs;
  loop::StmtPtr body;
};
TaskGrid task_grid(const loop::Function& f);
// The number of tasks: the product of the grid's extents, 1 without Parallel loops.
expr::Dim task_count(const loop::Function& f, expr::Context& ctx);

// The Scratch buffers in KernelFrame::scratch, in order: piece k begins at the byte offset, a multiple of 64, and k gaps.
struct ScratchLayout {
  struct Piece {
    loop::BufferId buffer;
    expr::Dim bytes, offset;
  };
  std::vector<Piece> pieces;
  expr::Dim bytes;  // of all, without gaps
};
ScratchLayout scratch_layout(const loop::Function& f, expr::Context& ctx);

}  // namespace pliant::codegen
