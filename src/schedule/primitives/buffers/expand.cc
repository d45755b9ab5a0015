// for i in E { local t[S] { … t[x] … } }  ->  local t[E, S] { for i in E { … t[i, x] … } }.
#include <algorithm>

#include "schedule/primitives/tail.h"
#include "schedule/region.h"

namespace pliant::schedule {

Status Schedule::expand(std::string_view buffer, std::string_view at) {
  Edit e(*this, "expand", buffer, "at", at);
  const Buffer b = TRY(e.find_buffer(buffer));
  const StmtPtr home = TRY(e.find_serial_loop(at));
  Inside in = inside_allocs(home->body[0]);
  const auto own = std::find_if(in.allocs.begin(), in.allocs.end(), [&](auto& a) { return a->id == b.id; });
  if (own == in.allocs.end()) return e.refuse("loop " + std::string(at) + " does not allocate %" + b.name);
  in.allocs.erase(own);
  for (Dim d : b.shape)
    if (expr::uses_symbol(d, home->var)) return e.refuse("the shape of %" + b.name + " depends on the loop");
  const int64_t last = e.ctx.info(home->var).hi;
  const auto count = last < kMostLanes ? std::optional(std::vector<Dim>{e.ctx.constant(last + 1)})
                                       : shape_for({home->extent}, e.enclosing_loops(home), e.ctx);
  if (!count || (b.scope == Scope::Local && !(*count)[0].is_const()))
    return e.refuse("the number of iterations has no " + std::string(count ? "constant" : "known") + " bound");
  if (!b.strides.empty()) return e.refuse("%" + b.name + " has strides");
  Buffer wide = b;
  wide.shape.insert(wide.shape.begin(), (*count)[0]);
  const Dim i = e.ctx.symbol_dim(home->var);
  const StmtPtr body = redirect(in.wrap(in.body), b.id, b.id, e.ctx, [&](std::vector<Dim> index) {
    index.insert(index.begin(), i);
    return index;
  });
  e.replace(home, loop::make_alloc(std::move(wide), loop::with_body(home, {body})));
  return e.commit();
}

}  // namespace pliant::schedule
