// for i in E { for j in D { … } }  ->  for f in E*D { … } with i = floordiv(f, D), j = mod(f, D).
#include "schedule/edit.h"

namespace pliant::schedule {

Status check_fusable(const Edit& e, const StmtPtr& out, const StmtPtr& in) {
  const std::string outer = e.name_of(out->var), inner = e.name_of(in->var);
  if (out->body[0] != in) return e.refuse("loop " + inner + " is not all that loop " + outer + " holds");
  if (out->for_kind != in->for_kind)
    return e.refuse(std::string("one loop is ") + loop::name_of(out->for_kind) + ", the other " +
                    loop::name_of(in->for_kind));
  if (expr::uses_symbol(in->extent, out->var)) return e.refuse("the extent of loop " + inner + " depends on " + outer);
  if (!expr::loads_of(expr::make_index(in->extent)).empty())
    return e.refuse("the extent of loop " + inner + " is read from memory");
  // Two extents below zero would have a product above it.
  if (!e.is_size(in->extent) || !e.is_size(out->extent)) return e.refuse("an extent may be negative");
  return ok();
}

Status Schedule::fuse(std::string_view outer, std::string_view inner, std::string_view fused) {
  Edit e(*this, "fuse", outer, inner, "->", fused);
  StmtPtr out = TRY(e.find_loop(outer)), in = TRY(e.find_loop(inner));
  TRY(check_fusable(e, out, in));
  Dim extent = out->extent * in->extent;
  Dim f = TRY(e.new_index(fused, extent));
  // The divisor is positive wherever it is evaluated: inside a loop that does not run at all when it is 0.
  Dim d = in->extent;
  StmtPtr body = e.substitute(in->body[0], {{out->var, expr::floordiv(f, d)}, {in->var, expr::mod(f, d)}});
  e.replace(out, make_for(f, extent, out->for_kind, body));
  return e.commit();
}

}  // namespace pliant::schedule
