// for i in E { … i … }  ->  for io in ceildiv(E, F) { for ii in min(F, E - io*F) { … io*F + ii … } }
#include "loop/lexer.h"
#include "schedule/edit.h"

namespace pliant::schedule {

Status Schedule::split(std::string_view loop, int64_t factor, std::string_view outer, std::string_view inner) {
  Edit e(*this, trace_line({"split", loop::quote_name(loop), std::to_string(factor), "->", loop::quote_name(outer),
                            loop::quote_name(inner)}));
  StmtPtr old = TRY(e.find_loop(loop));
  if (factor < 1) return e.refuse("the factor is not positive");
  if (old->for_kind == ForKind::Vector || old->for_kind == ForKind::Unroll)
    return e.refuse("loop " + std::string(loop) + " is already marked " + loop::name_of(old->for_kind));
  Dim extent = old->extent, count = expr::ceildiv(extent, factor);
  Dim o = TRY(e.new_index(outer, count));
  bool whole = e.ctx.divisible(extent, factor);
  Dim inner_extent = whole ? e.ctx.constant(factor) : expr::min(e.ctx.constant(factor), extent - o * factor);
  Dim i = TRY(e.new_index(inner, inner_extent, factor - 1));
  StmtPtr body = e.substitute(old->body[0], {{old->var, o * factor + i}});
  // A parallel loop leaves a grid over its tiles.
  StmtPtr in = loop::make_for(*i.as_symbol(), inner_extent, ForKind::Serial, body);
  e.replace(old, loop::make_for(*o.as_symbol(), count, old->for_kind, in));
  return e.commit();
}

}  // namespace pliant::schedule
