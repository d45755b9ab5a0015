// for i in E { … i … }  ->  for io in T { for ii in min(F, E/T + (io < E%T)) { … start(io) + ii … } } with T = ceildiv(E, F)
// and start(io) = io*(E/T) + min(io, E%T): 49 rows in tiles of at most 14 are 13 + 12 + 12 + 12, where `split` gives 14 + 14
// + 14 + 7.
#include "loop/lexer.h"
#include "schedule/edit.h"

namespace pliant::schedule {

Status Schedule::split_even(std::string_view loop, int64_t factor, std::string_view outer, std::string_view inner) {
  Edit e(*this, trace_line({"split_even", loop::quote_name(loop), std::to_string(factor), "->", loop::quote_name(outer),
                            loop::quote_name(inner)}));
  StmtPtr old = TRY(e.find_loop(loop));
  if (factor < 1) return e.refuse("the factor is not positive");
  if (old->for_kind == ForKind::Vector || old->for_kind == ForKind::Unroll)
    return e.refuse("loop " + std::string(loop) + " is already marked " + loop::name_of(old->for_kind));
  Dim extent = old->extent, tiles = expr::ceildiv(extent, factor);
  Dim o = TRY(e.new_index(outer, tiles));
  // No tile, no division: the divisor is at least one where it is evaluated.
  Dim divisor = expr::max(e.ctx.constant(1), tiles);
  Dim base = expr::floordiv(extent, divisor), longer = expr::mod(extent, divisor);
  Dim start = o * base + expr::min(o, longer);
  Dim size =
      expr::min(e.ctx.constant(factor), base + expr::min(e.ctx.constant(1), expr::max(e.ctx.constant(0), longer - o)));
  Dim i = TRY(e.new_index(inner, size, factor - 1));
  e.tiles.push_back({*o.as_symbol(), *i.as_symbol(), start, true});
  StmtPtr body = e.substitute(old->body[0], {{old->var, start + i}});
  StmtPtr in = loop::make_for(*i.as_symbol(), size, ForKind::Serial, body);
  e.replace(old, loop::make_for(*o.as_symbol(), tiles, old->for_kind, in));
  return e.commit();
}

}  // namespace pliant::schedule
