// for i in E { A; B }  ->  for i in E { A } for i.1 in E { B }.
#include "schedule/dependence.h"

namespace pliant::schedule {

Status Schedule::fission(std::string_view name) {
  Edit e(*this, "fission", name);
  StmtPtr old = TRY(e.find_loop(name));
  std::vector<StmtPtr> parts = statements_of(old->body[0]);
  // A guard that cannot change guards each statement.
  StmtPtr guard = parts.size() == 1 && parts[0]->kind == StmtKind::If && parts[0]->body.size() == 1 ? parts[0] : nullptr;
  if (guard && expr::loads_of(guard->value).empty()) {
    parts = statements_of(guard->body[0]);
    for (StmtPtr& part : parts) part = loop::make_if(guard->value, part);
  }
  if (parts.size() < 2) return e.refuse("loop " + std::string(name) + " holds one statement");
  if (old->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(name) + " is parallel");
  Extents vary = loops_below(old);
  for (size_t a = 0; a < parts.size(); ++a)
    for (size_t b = a + 1; b < parts.size(); ++b)
      if (auto hit = carried(accesses_of(parts[a]), accesses_of(parts[b]), old->var, vary, e))
        return e.refuse("statements " + std::to_string(a + 1) + " and " + std::to_string(b + 1) + " of loop " +
                        std::string(name) + " touch the same elements of %" + loop::find_buffer(e.function, *hit)->name +
                        " in different iterations");
  std::vector<StmtPtr> loops{loop::with_body(old, {parts[0]})};
  for (size_t k = 1; k < parts.size(); ++k) {
    expr::DimMap renamed;
    Dim i = e.copy_index(old->var, old->extent, renamed);
    loops.push_back(make_for(i, old->extent, old->for_kind, e.substitute(parts[k], renamed)));
  }
  e.replace(old, loop::make_block(std::move(loops)));
  return e.commit();
}

}  // namespace pliant::schedule
