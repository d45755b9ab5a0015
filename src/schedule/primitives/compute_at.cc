// scratch t { for v … { t[v] = … } … for o … { S(t) } }  ->  … for o … { scratch t { for v in tile { t[v] = … } S(t) } }.
#include <algorithm>

#include "loop/lexer.h"
#include "schedule/producer.h"

namespace pliant::schedule {

Status Schedule::compute_at(std::string_view buffer, std::string_view at) {
  Edit e(*this, trace_line({"compute_at", loop::quote_name(buffer), "at", loop::quote_name(at)}));
  Buffer b = TRY(e.find_buffer(buffer));
  Producer p = TRY(find_producer(e, b));
  StmtPtr home = TRY(e.find_loop(at));
  auto path = e.enclosing(home);
  if (std::find(path.begin(), path.end(), p.alloc) == path.end() ||
      std::find(path.begin(), path.end(), p.nest) != path.end() || home == p.nest)
    return e.refuse("loop " + std::string(at) + " is not where %" + b.name + " is read");
  auto reads_in = [&](const StmtPtr& s) {
    auto all = accesses_of(s);
    return std::count_if(all.begin(), all.end(), [&](auto& a) { return a.buffer == b.id; });
  };
  if (reads_in(p.alloc->body[0]) != reads_in(home->body[0]) + reads_in(p.nest))
    return e.refuse("%" + b.name + " is read outside loop " + std::string(at) + " too");
  Inside in = inside_allocs(home->body[0]);
  auto region = region_of(accesses_of(in.body), b.id, loops_below(in.body), e.ctx);
  if (!region) return e.refuse("the part of %" + b.name + " that the body of " + std::string(at) + " reads is not known");
  auto shape = shape_for(region->size, e.enclosing_loops(in.body), e.ctx);
  if (!shape) return e.refuse("a tile of %" + b.name + " has no known size");
  if (b.scope == Scope::Local && std::any_of(shape->begin(), shape->end(), [](Dim d) { return !d.is_const(); }))
    return e.refuse("a tile of %" + b.name + " has no constant size");

  Clamped part = clamp(*region, b.shape, e.ctx);
  expr::DimMap vars;
  std::vector<Dim> index;
  for (size_t k = 0; k < p.loops.size(); ++k) {
    index.push_back(e.rename(p.loops[k]->var, part.count[k]));
    vars[p.loops[k]->var] = part.start[k] + index[k];
  }
  StmtPtr fill = redirect(e.substitute(p.body, vars), b.id, b.id, region->base, {}, e.ctx);
  for (size_t k = p.loops.size(); k-- > 0;)
    fill = loop::make_for(*index[k].as_symbol(), part.count[k], ForKind::Serial, fill);
  StmtPtr body = redirect(in.body, b.id, b.id, region->base, {}, e.ctx);
  Buffer tile = b;
  tile.shape = *shape;
  tile.strides.clear();
  StmtPtr moved = loop::make_for(home->var, home->extent, home->for_kind,
                                 in.wrap(loop::make_alloc(tile, loop::make_block({fill, body}))));
  StmtPtr rest = loop::rewrite(p.alloc->body[0], [&](const StmtPtr& s) {
    return s == p.nest ? nullptr : s == home ? moved : s;
  });
  e.replace(p.alloc, rest);
  return e.commit();
}

}  // namespace pliant::schedule
