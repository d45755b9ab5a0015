#include "loop/grid.h"
#include "loop/pass/pass.h"

namespace pliant::loop {

// The index of each loop is a digit of the task's number, of which the last loop's changes fastest. Divisors are at least 1
// wherever tasks run: a grid with an empty extent has none.
Function collapse(const Function& f, expr::Context& ctx, const PassOptions&) {
  const TaskGrid grid = task_grid(f);
  if (grid.loops.empty() || grid.loops == std::vector<StmtPtr>{f.body}) return f;
  StmtPtr body = grid.body;
  for (size_t i = grid.allocs.size(); i-- > 0;) body = make_alloc(*grid.allocs[i]->alloc, body);
  Function out = f;
  if (grid.loops.size() == 1) {
    out.body = make_for(grid.loops[0]->var, grid.loops[0]->extent, ForKind::Parallel, body);
    return out;
  }
  const Dim count = task_count(f, ctx), task = ctx.index_symbol("task", count);
  std::vector<std::pair<SymbolId, Dim>> indices;
  Dim rest = task;
  for (size_t i = grid.loops.size(); i-- > 1;) {
    const Dim extent = expr::max(grid.loops[i]->extent, ctx.constant(1));
    indices.emplace_back(grid.loops[i]->var, expr::mod(rest, extent));
    const Dim outer = i == 1 ? ctx.symbol_dim(grid.loops[0]->var) : ctx.symbol({.name = "rest"});
    indices.emplace_back(*outer.as_symbol(), expr::floordiv(rest, extent));
    rest = outer;
  }
  for (size_t i = indices.size(); i-- > 0;) body = make_let(indices[i].first, indices[i].second, body);
  out.body = make_for(*task.as_symbol(), count, ForKind::Parallel, body);
  return out;
}

}  // namespace pliant::loop
