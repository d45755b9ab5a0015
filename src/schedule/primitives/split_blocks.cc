// for i in E { … i … }  ->  for io in B { for ii in min(S, E - io*S) { … io*S + ii … } }
// with B = ceildiv(ceildiv(E, F), most/F) and S = ceildiv(ceildiv(E, F), B)*F.
#include "loop/lexer.h"
#include "loop/print_expr.h"
#include "schedule/edit.h"

namespace pliant::schedule {

Status Schedule::split_blocks(std::string_view loop, Dim most, int64_t factor, std::string_view outer,
                              std::string_view inner) {
  const std::string text = loop::ExprPrinter(ctx_).dim(most);
  Edit e(*this, trace_line({"split_blocks", loop::quote_name(loop), most.is_const() ? text : "[" + text + "]",
                            std::to_string(factor), "->", loop::quote_name(outer), loop::quote_name(inner)}));
  const StmtPtr old = TRY(e.find_loop(loop));
  if (factor < 1 || !e.ctx.proves_less_equal(e.ctx.constant(factor), most))
    return e.refuse("a block is not known to hold " + std::to_string(factor) + " iterations");
  const std::optional<Dim> units = e.ctx.divide_exact(most, e.ctx.constant(factor));
  if (!units) return e.refuse(text + " is not a multiple of " + std::to_string(factor));
  TRY(check_known(e, most));
  if (old->for_kind != ForKind::Serial) return e.refuse("loop " + std::string(loop) + " is " + loop::name_of(old->for_kind));
  const Dim all = expr::ceildiv(old->extent, factor), blocks = expr::ceildiv(all, *units);
  // No block, no division: the divisor is at least one where it is evaluated.
  const Dim size = expr::ceildiv(all, expr::max(e.ctx.constant(1), blocks)) * factor;
  const Dim o = TRY(e.new_index(outer, blocks)), start = o * size, count = expr::min(size, old->extent - start);
  const Dim i = TRY(e.new_index(inner, count, most.is_const() ? most.const_value() - 1 : expr::kNoLimit));
  e.tiles.push_back({*o.as_symbol(), *i.as_symbol(), start, true});
  const StmtPtr body = e.substitute(old->body[0], {{old->var, start + i}});
  e.replace(old, loop::make_for(*o.as_symbol(), blocks, ForKind::Serial,
                                loop::make_for(*i.as_symbol(), count, ForKind::Serial, body)));
  return e.commit();
}

}  // namespace pliant::schedule
