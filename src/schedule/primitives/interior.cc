// for k … { for r … { if 0 <= s(k, r) { S } } }  ->
// if 0 <= the least s(k, r) { for k.1 … { for r.1 … { S } } } else { for k … { for r … { if 0 <= s(k, r) { S } } } }.
#include "schedule/dependence.h"
#include "schedule/guard.h"

namespace pliant::schedule {

Status Schedule::interior(std::string_view name) {
  Edit e(*this, "interior", name);
  const StmtPtr old = TRY(e.find_loop(name));
  const auto nest = guarded_nest(old);
  if (!nest) return e.refuse("the nest of loop " + std::string(name) + " is not all under one condition");
  if (old->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(name) + " is parallel");
  Extents loops;
  for (const StmtPtr& l : nest->loops) loops.emplace_back(l->var, l->extent);
  std::vector<Scalar> holds;
  for (Scalar term : nest->terms()) {
    const auto slack = slack_of(term);
    const auto bound = slack && expr::loads_of(term).empty() ? bounds_of(*slack, loops, e.ctx) : std::nullopt;
    if (!bound || uses_bound(bound->lo, old)) return e.refuse("the condition has no bounds that are known before the nest");
    holds.push_back(expr::less_equal(e.ctx.constant(0), bound->lo));
  }
  e.replace(old, loop::make_if(expr::conjunction(holds), e.copy(nest->with({})), old));
  return e.commit();
}

}  // namespace pliant::schedule
