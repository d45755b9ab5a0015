// Loops that are unrolled, run as vector lanes or divided among threads. The meaning stays that of the serial loop, which
// Parallel and Vector loops must not depend on.
#include <algorithm>

#include "schedule/dependence.h"
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

StmtPtr with_kind(const StmtPtr& s, ForKind kind) {
  return loop::changed(s, [&](Stmt& c) { c.for_kind = kind; });
}

}  // namespace

Status check_independent(const Edit& e, const StmtPtr& loop, bool updates_allowed) {
  if (e.ctx.proves_less_equal(loop->extent, e.ctx.constant(1))) return ok();
  const Extents vary = loops_below(loop);
  std::set<SymbolId> all;  // of 16*j + i, where i is below 16, j is determined, and then i
  for (const auto& [var, extent] : vary) all.insert(var);
  std::vector<Access> accesses = accesses_of(loop->body[0]);
  for (const Access& a : accesses)
    for (const Access& b : accesses) {
      if (a.buffer != b.buffer || (!a.is_store && !b.is_store)) continue;
      if (determined(a, b, {loop->var}, vary, e).count(loop->var)) continue;
      if (determined(a, b, all, vary, e).count(loop->var)) continue;
      // A reduction over the lanes: every lane updates the same element.
      auto stays = [&](Dim d) { return !expr::uses_symbol(d, loop->var); };
      if (updates_allowed && !ordered(a, b) && std::all_of(a.index.begin(), a.index.end(), stays) &&
          std::all_of(b.index.begin(), b.index.end(), stays))
        continue;
      return e.refuse("iterations of loop " + e.name_of(loop->var) + " touch the same elements of %" +
                      loop::find_buffer(e.function, a.buffer)->name);
    }
  return ok();
}

Status check_vectors(const Edit& e, const StmtPtr& s, const std::function<bool(const Stmt&)>& is_vector) {
  if (is_vector(*s)) TRY(check_independent(e, s, true));
  for (const StmtPtr& child : s->body) TRY(check_vectors(e, child, is_vector));
  return ok();
}

Status Schedule::unroll(std::string_view name) {
  Edit e(*this, "unroll", name);
  StmtPtr s = TRY(e.find_loop(name));
  if (!s->extent.is_const())
    return e.refuse("the extent of loop " + std::string(name) +
                    " is not constant; `mask`, `pad` or `specialize` make it so");
  if (s->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(name) + " is parallel");
  e.replace(s, with_kind(s, ForKind::Unroll));
  return e.commit();
}

Status Schedule::outline(std::string_view name) {
  Edit e(*this, "outline", name);
  StmtPtr s = TRY(e.find_serial_loop(name));
  const auto around = e.enclosing(s);
  if (std::any_of(around.begin(), around.end(),
                  [](const StmtPtr& o) { return o->kind == StmtKind::For && o->for_kind == ForKind::Vector; }))
    return e.refuse("loop " + std::string(name) + " is inside a vector loop");
  e.replace(s, with_kind(s, ForKind::Outline));
  return e.commit();
}

Status Schedule::vectorize(std::string_view name) {
  Edit e(*this, "vectorize", name);
  StmtPtr s = TRY(e.find_loop(name));
  if (s->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(name) + " is parallel");
  TRY(check_independent(e, s, true));
  StmtPtr lanes = s->extent.is_const() ? s : TRY(masked(e, s));
  if (lanes->extent.const_value() > kMostLanes)
    return e.refuse("loop " + std::string(name) + " has " + std::to_string(lanes->extent.const_value()) +
                    " lanes, more than " + std::to_string(kMostLanes));
  e.replace(s, with_kind(lanes, ForKind::Vector));
  return e.commit();
}

Status Schedule::parallel(std::string_view name) {
  Edit e(*this, "parallel", name);
  StmtPtr s = TRY(e.find_loop(name));
  for (const StmtPtr& outer : e.enclosing(s))
    if (outer->kind != StmtKind::For || outer->for_kind != ForKind::Parallel)
      return e.refuse("loop " + std::string(name) + " is not outermost among parallel loops");
  TRY(check_independent(e, s, false));
  e.replace(s, with_kind(s, ForKind::Parallel));
  return e.commit();
}

}  // namespace pliant::schedule
