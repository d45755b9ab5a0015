// for o in ceildiv(E, F) { … for i in min(F, E - o*F) … }  ->  for main in floordiv(E, F) { … for i in F … }
// for tail in ceildiv(E, F) - floordiv(E, F) { … for i in E - floordiv(E, F)*F … },
// or for o in E { S(o) }  ->  for main in C { S(main) } for tail in E - C { S(C + tail) }.
#include <algorithm>

#include "schedule/primitives/tail.h"

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
  const StmtPtr first = e.substitute(old->body[0], {{old->var, at(count, m)}});
  const StmtPtr second = e.substitute(rest, {{old->var, count + at(old->extent - count, t)}});
  e.replace(old, loop::make_block({make_for(m, count, ForKind::Serial, first),
                                   make_for(t, old->extent - count, ForKind::Serial, second)}));
  return e.commit();
}

Status Schedule::partition(std::string_view name, std::string_view main, std::string_view tail) {
  Edit e(*this, "partition", name, "->", main, tail);
  const StmtPtr old = TRY(e.find_serial_loop(name));
  Dim o = e.ctx.symbol_dim(old->var), size;
  std::optional<Tail> full;
  const Extents inner = loops_below(old->body[0]);
  auto varies_inside = [&](Dim d) { return uses_bound(d, old->body[0]).has_value(); };
  auto consider = [&](Dim extent) {
    auto t = tail_of(extent, e.ctx);
    if (!t || size || varies_inside(t->rest)) return;
    auto c = expr::coefficient_of(t->rest, old->var);
    if (!c || !c->is_const(-t->limit)) return;
    size = extent;
    full = t;
  };
  for (auto& [var, extent] : inner) {
    consider(extent);
    if (auto it = e.padded.find(var); it != e.padded.end()) consider(it->second);
  }
  if (!full) return e.refuse("no loop inside has an extent min(F, E - " + std::string(name) + "*F)");
  Dim zero = e.ctx.constant(0);
  Dim count = expr::floordiv(full->rest + o * full->limit, full->limit);
  if (!e.ctx.proves_less_equal(zero, count)) count = expr::max(zero, count);
  if (!e.ctx.proves_less_equal(count, old->extent)) return e.refuse("the loop may end before the full tiles do");
  Dim m = TRY(e.new_index(main, count)), t = TRY(e.new_index(tail, old->extent - count));
  StmtPtr whole = loop::rewrite(old->body[0], [&](const StmtPtr& s) -> StmtPtr {
    if (s->kind != StmtKind::For) return s;
    if (s->extent == size) return loop::make_for(s->var, e.ctx.constant(full->limit), s->for_kind, s->body[0]);
    auto was = e.padded.find(s->var);
    bool guarded = was != e.padded.end() && was->second == size && is_mask(*s->body[0], s->var, size, e.ctx);
    return guarded ? loop::with_body(s, {s->body[0]->body[0]}) : s;
  });
  StmtPtr rest = e.copy(old->body[0]);
  auto placed = [&](const StmtPtr& body, Dim at) { return e.substitute(body, {{old->var, at}}); };
  StmtPtr first = make_for(m, count, ForKind::Serial, placed(whole, m));
  StmtPtr second = make_for(t, old->extent - count, ForKind::Serial, placed(rest, count + t));
  e.replace(old, loop::make_block({first, second}));
  return e.commit();
}

}  // namespace pliant::schedule
