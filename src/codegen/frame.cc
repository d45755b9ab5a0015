#include "codegen/frame.h"

#include "loop/walk.h"

namespace pliant::codegen {

using loop::StmtKind;
using loop::StmtPtr;

TaskGrid task_grid(const loop::Function& f) {
  TaskGrid grid;
  StmtPtr s = f.body;
  while (s) {
    if (s->kind == StmtKind::Block && s->body.size() == 1) {
      s = s->body[0];
    } else if (s->kind == StmtKind::Alloc) {
      grid.allocs.push_back(s);
      s = s->body[0];
    } else if (s->kind == StmtKind::For && s->for_kind == loop::ForKind::Parallel) {
      grid.loops.push_back(s);
      s = s->body[0];
    } else {
      break;
    }
  }
  grid.body = s;
  if (grid.loops.empty()) {
    grid.allocs.clear();
    grid.body = f.body;
  }
  return grid;
}

expr::Dim task_count(const loop::Function& f, expr::Context& ctx) {
  expr::Dim n = ctx.constant(1);
  for (const StmtPtr& loop : task_grid(f).loops) {
    // A negative extent runs no iteration; a product of two must not become positive.
    const bool nonnegative = ctx.range(loop->extent).lo >= 0;
    n = n * (nonnegative ? loop->extent : expr::max(loop->extent, ctx.constant(0)));
  }
  return n;
}

ScratchLayout scratch_layout(const loop::Function& f, expr::Context& ctx) {
  ScratchLayout layout{{}, ctx.constant(0)};
  loop::for_each(f.body, [&](const loop::Stmt& s) {
    if (s.kind != StmtKind::Alloc || s.alloc->scope != loop::Scope::Scratch) return;
    const loop::Buffer& b = *s.alloc;
    const std::vector<expr::Dim> strides = loop::strides_of(b, ctx);
    expr::Dim elements = ctx.constant(1);
    if (b.strides.empty()) {
      for (expr::Dim d : b.shape) elements = elements * d;
    } else {
      for (size_t i = 0; i < b.shape.size(); ++i) elements = elements + (b.shape[i] - 1) * strides[i];
      elements = expr::max(elements, ctx.constant(0));
    }
    const expr::Dim bytes = elements * byte_size(b.dtype);
    layout.pieces.push_back({b.id, bytes, layout.bytes});
    layout.bytes = layout.bytes + expr::ceildiv(bytes, 64) * 64;
  });
  return layout;
}

}  // namespace pliant::codegen
