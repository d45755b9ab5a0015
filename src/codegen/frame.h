// What a kernel asks of the runtime: its task grid and its scratch memory, as Dims over the kernel's integer arguments.
#pragma once
#include <map>
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

// Byte offsets of the Scratch buffers in KernelFrame::scratch, each a multiple of 64, and their sum.
struct ScratchLayout {
  std::map<loop::BufferId, expr::Dim> offsets;
  expr::Dim bytes;
};
ScratchLayout scratch_layout(const loop::Function& f, expr::Context& ctx);
// The bytes of scratch that one thread needs.
inline expr::Dim scratch_bytes(const loop::Function& f, expr::Context& ctx) { return scratch_layout(f, ctx).bytes; }

}  // namespace pliant::codegen
