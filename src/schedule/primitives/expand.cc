// for i in E { local t[S] { … t[x] … } }  ->  local t[E, S] { for i in E { … t[i, x] … } }.
#include <algorithm>

#include "loop/lexer.h"
#include "schedule/primitives/tail.h"
#include "schedule/region.h"

namespace pliant::schedule {

Status Schedule::expand(std::string_view buffer, std::string_view at) {
  Edit e(*this, trace_line({"expand", loop::quote_name(buffer), "at", loop::quote_name(at)}));
  const Buffer b = TRY(e.find_buffer(buffer));
  const StmtPtr home = TRY(e.find_loop(at));
  if (home->for_kind != ForKind::Serial) return e.refuse("loop " + std::string(at) + " is " + loop::name_of(home->for_kind));
  Inside in = inside_allocs(home->body[0]);
  const auto own = std::find_if(in.allocs.begin(), in.allocs.end(), [&](auto& a) { return a->id == b.id; });
  if (own == in.allocs.end()) return e.refuse("loop " + std::string(at) + " does not allocate %" + b.name);
  in.allocs.erase(own);
  for (Dim d : b.shape)
    if (expr::uses_symbol(d, home->var)) return e.refuse("the shape of %" + b.name + " depends on the loop");
  const int64_t last = e.ctx.info(home->var).hi;
  std::optional<std::vector<Dim>> count;
  if (last < kMostLanes)
    count = {e.ctx.constant(last + 1)};
  else
    count = shape_for({home->extent}, e.enclosing_loops(home), e.ctx);
  if (!count || (b.scope == Scope::Local && !(*count)[0].is_const()))
    return e.refuse("the number of iterations has no " + std::string(count ? "constant" : "known") + " bound");
  if (!b.strides.empty()) return e.refuse("%" + b.name + " has strides");
  Buffer wide = b;
  wide.shape.insert(wide.shape.begin(), (*count)[0]);
  const Dim i = e.ctx.symbol_dim(home->var);
  auto moved = [&](std::vector<Dim> index) {
    index.insert(index.begin(), i);
    return index;
  };
  const StmtPtr loads = loop::substitute(in.wrap(in.body), {}, [&](Scalar l) {
    return l->tensor == b.id ? expr::make_load(e.ctx, b.id, l.dtype(), moved(l->index)) : l;
  });
  const StmtPtr body = loop::rewrite(loads, [&](const StmtPtr& s) -> StmtPtr {
    if (s->kind != StmtKind::Store || s->buffer != b.id) return s;
    return loop::make_store(b.id, moved(s->index), s->value, s->store_kind);
  });
  e.replace(home, loop::make_alloc(std::move(wide), loop::make_for(home->var, home->extent, home->for_kind, body)));
  return e.commit();
}

}  // namespace pliant::schedule
