#include "loop/grid.h"

namespace pliant::loop {

TaskGrid task_grid(const Function& f) {
  TaskGrid grid;
  StmtPtr s = f.body;
  while (s) {
    if (s->kind == StmtKind::Block && s->body.size() == 1) {
      s = s->body[0];
    } else if (s->kind == StmtKind::Alloc) {
      grid.allocs.push_back(s);
      s = s->body[0];
    } else if (s->kind == StmtKind::For && s->for_kind == ForKind::Parallel) {
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

Dim task_count(const Function& f, expr::Context& ctx) {
  Dim n = ctx.constant(1);
  for (const StmtPtr& loop : task_grid(f).loops) {
    // A negative extent runs no iteration; a product of two must not become positive.
    const bool nonnegative = ctx.range(loop->extent).lo >= 0;
    n = n * (nonnegative ? loop->extent : expr::max(loop->extent, ctx.constant(0)));
  }
  return n;
}

}  // namespace pliant::loop
