// for k … { for r … { if 0 <= s(k, r) { S } } }  ->
// if 0 <= the least s(k, r) { for k.1 … { for r.1 … { S } } } else { for k … { for r … { if 0 <= s(k, r) { S } } } }.
#include "schedule/edit.h"
#include "schedule/guard.h"

namespace pliant::schedule {
namespace {

// The least value of `d` over the loops' full ranges; nothing where it does not grow or fall evenly along one of them.
std::optional<Dim> least(Dim d, const std::vector<StmtPtr>& loops) {
  for (size_t k = loops.size(); k-- > 0;) {
    if (!expr::uses_symbol(d, loops[k]->var)) continue;
    const auto step = expr::coefficient_of(d, loops[k]->var);
    if (!step || !step->is_const()) return std::nullopt;
    d = expr::substitute(d, {{loops[k]->var, step->const_value() > 0 ? d->ctx->constant(0) : loops[k]->extent - 1}});
  }
  return d;
}

}  // namespace

Status Schedule::interior(std::string_view name) {
  Edit e(*this, "interior", name);
  const StmtPtr old = TRY(e.find_loop(name));
  const auto nest = guarded_nest(old);
  if (!nest) return e.refuse("the nest of loop " + std::string(name) + " is not all under one condition");
  if (old->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(name) + " is parallel");
  std::vector<Scalar> holds;
  for (Scalar term : nest->terms()) {
    const auto slack = slack_of(term);
    const auto bound = slack && expr::loads_of(term).empty() ? least(*slack, nest->loops) : std::nullopt;
    if (!bound || uses_bound(*bound, old)) return e.refuse("the condition has no bounds that are known before the nest");
    holds.push_back(expr::less_equal(e.ctx.constant(0), *bound));
  }
  e.replace(old, loop::make_if(expr::conjunction(holds), e.copy(nest->with({})), old));
  return e.commit();
}

}  // namespace pliant::schedule
