// for o in E { S(o) }  ->  for main in C { S(main) } for tail in E - C { S(C + tail) }.
#include "schedule/edit.h"

namespace pliant::schedule {

Status Schedule::partition(std::string_view name, Dim count, std::string_view main, std::string_view tail) {
  Edit e(*this, "partition", name, count, "->", main, tail);
  const StmtPtr old = TRY(e.find_serial_loop(name));
  TRY(check_known(e, count));
  if (!e.ctx.proves_less_equal(e.ctx.constant(0), count) || !e.ctx.proves_less_equal(count, old->extent))
    return e.refuse(count.str() + " is not known to be 0 to the number of iterations");
  const Dim m = TRY(e.new_index(main, count)), t = TRY(e.new_index(tail, old->extent - count));
  const StmtPtr rest = e.copy(old->body[0]);
  // One iteration has a place that is known.
  auto at = [&](Dim number, Dim i) { return number.is_const(1) ? e.ctx.constant(0) : i; };
  const StmtPtr first = without_known(e.substitute(old->body[0], {{old->var, at(count, m)}}));
  const StmtPtr second = without_known(e.substitute(rest, {{old->var, count + at(old->extent - count, t)}}));
  e.replace(old, loop::make_block({make_for(m, count, ForKind::Serial, first),
                                   make_for(t, old->extent - count, ForKind::Serial, second)}));
  return e.commit();
}

}  // namespace pliant::schedule
