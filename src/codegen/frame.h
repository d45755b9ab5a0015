// What a kernel asks of the runtime: its scratch memory, as Dims over the kernel's integer arguments.
#pragma once
#include <vector>

#include "loop/loop.h"

namespace pliant::codegen {

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
