// for i in E { for j in D { … } }  ->  for f in E*D { … } with i = floordiv(f, D), j = mod(f, D).
#include "loop/lexer.h"
#include "schedule/edit.h"

namespace pliant::schedule {

Status Schedule::fuse(std::string_view outer, std::string_view inner, std::string_view fused) {
  Edit e(*this, trace_line({"fuse", loop::quote_name(outer), loop::quote_name(inner), "->", loop::quote_name(fused)}));
  StmtPtr out = TRY(e.find_loop(outer)), in = TRY(e.find_loop(inner));
  if (out->body[0] != in)
    return e.refuse("loop " + std::string(inner) + " is not all that loop " + std::string(outer) + " holds");
  if (out->for_kind != in->for_kind)
    return e.refuse(std::string("one loop is ") + loop::name_of(out->for_kind) + ", the other " +
                    loop::name_of(in->for_kind));
  if (expr::uses_symbol(in->extent, out->var))
    return e.refuse("the extent of loop " + std::string(inner) + " depends on " + std::string(outer));
  if (!expr::loads_of(expr::make_index(in->extent)).empty())
    return e.refuse("the extent of loop " + std::string(inner) + " is read from memory");
  // Two extents below zero would have a product above it.
  Dim zero = e.ctx.constant(0);
  if (!e.ctx.proves_less_equal(zero, in->extent) || !e.ctx.proves_less_equal(zero, out->extent))
    return e.refuse("an extent may be negative");
  Dim extent = out->extent * in->extent;
  Dim f = TRY(e.new_index(fused, extent));
  // The divisor is positive wherever it is evaluated: inside a loop that does not run at all when it is 0.
  Dim d = in->extent;
  StmtPtr body = e.substitute(in->body[0], {{out->var, expr::floordiv(f, d)}, {in->var, expr::mod(f, d)}});
  e.replace(out, loop::make_for(*f.as_symbol(), extent, out->for_kind, body));
  return e.commit();
}

}  // namespace pliant::schedule
