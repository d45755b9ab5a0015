// for o … { for p … { for ii in E { S(start(o) + ii) } } }  ->
// for o … { let f = start(o) { let n = E { for p … { for ii in n { S(f + ii) } } } } }  where ii runs over a tile of o.
#include <algorithm>

#include "schedule/edit.h"

namespace pliant::schedule {

Status Schedule::let(std::string_view loop, std::string_view at, std::string_view first, std::string_view count) {
  Edit e(*this, "let", loop, "at", at, "->", first, count);
  const StmtPtr old = TRY(e.find_loop(loop)), home = TRY(e.find_loop(at));
  const auto tile = std::find_if(e.tiles.begin(), e.tiles.end(), [&](const LoopTile& t) { return t.inner == old->var; });
  if (tile == e.tiles.end()) return e.refuse("loop " + std::string(loop) + " does not run over a tile of a split");
  const Dim start = tile->start, extent = old->extent;
  const auto needs_name = [](Dim d) { return !d.is_const() && !d.as_symbol(); };
  if (!needs_name(start) && !needs_name(extent)) return e.refuse("there is nothing to compute");
  const std::vector<StmtPtr> around = e.enclosing(old);
  if (home != old && std::find(around.begin(), around.end(), home) == around.end())
    return e.refuse("loop " + std::string(loop) + " is not inside " + std::string(at));
  bool below = false;
  for (const StmtPtr& s : around) {
    below = below || s == home;
    if (!below) continue;
    if (s->kind == StmtKind::If) return e.refuse("there is a condition around loop " + std::string(loop));
    if (loop::binds_variable(*s) && (expr::uses_symbol(start, s->var) || expr::uses_symbol(extent, s->var)))
      return e.refuse("the tiles of " + std::string(loop) + " depend on " + e.name_of(s->var));
  }
  for (Dim d : {start, extent})
    if (!expr::loads_of(expr::make_index(d)).empty()) return e.refuse("loop " + std::string(loop) + " reads memory");
  const Dim f = needs_name(start) ? TRY(e.new_index(first, start + 1)) : start;
  const int64_t last = e.ctx.info(old->var).hi;
  const Dim bounded = last == expr::kNoLimit ? extent : expr::min(extent, e.ctx.constant(last + 1));
  const Dim n = needs_name(extent) ? TRY(e.new_size(count, bounded)) : extent;
  const Dim i = e.rename(old->var, n);
  StmtPtr now = e.substitute(old->body[0], {{old->var, i - start + f}});
  now = make_for(i, n, old->for_kind, now);
  std::erase_if(e.tiles, [&](const LoopTile& t) { return t.inner == old->var || t.inner == *i.as_symbol(); });
  StmtPtr body = loop::rewrite(home, [&](const StmtPtr& s) { return s == old ? now : s; });
  if (n != extent) body = loop::make_let(*n.as_symbol(), extent, body);
  if (f != start) body = loop::make_let(*f.as_symbol(), start, body);
  e.replace(home, body);
  return e.commit();
}

}  // namespace pliant::schedule
