// for l { y = select(c, a, b) }  ->  for l { if c { y = a } else { y = b } } where c is the same in all iterations of l.
// for l { if a && b(l) { S } }  ->  if a { for l { if b(l) { S } } }.
#include "schedule/edit.h"
#include "schedule/guard.h"

namespace pliant::schedule {
namespace {

StmtPtr branched(const StmtPtr& store, SymbolId var) {
  const Scalar value = store->value;
  if (value->kind != expr::ScalarKind::Select || expr::uses_symbol(value->args[0], var)) return store;
  auto with_value = [&](Scalar v) { return branched(loop::changed(store, [&](Stmt& s) { s.value = v; }), var); };
  return loop::make_if(value->args[0], with_value(value->args[1]), with_value(value->args[2]));
}

}  // namespace

Status Schedule::branch(std::string_view name) {
  Edit e(*this, "branch", name);
  StmtPtr l = TRY(e.find_loop(name));
  StmtPtr now =
      loop::rewrite(l, [&](const StmtPtr& s) -> StmtPtr { return s->kind == StmtKind::Store ? branched(s, l->var) : s; });
  if (now == l) return e.refuse("no value in loop " + std::string(name) + " is chosen alike by all of its iterations");
  e.replace(l, now);
  return e.commit();
}

Status Schedule::unswitch(std::string_view name) {
  Edit e(*this, "unswitch", name);
  const StmtPtr old = TRY(e.find_loop(name)), guard = old->body[0];
  if (guard->kind != StmtKind::If || guard->body.size() != 1)
    return e.refuse("loop " + std::string(name) + " is not all under one condition");
  if (old->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(name) + " is parallel");
  std::vector<Scalar> fixed, others;
  for (Scalar term : expr::conjuncts_of(guard->value)) {
    const bool moves = expr::uses_symbol(term, old->var) || !expr::loads_of(term).empty();
    (moves ? others : fixed).push_back(term);
  }
  if (fixed.empty()) return e.refuse("no part of the condition is the same in all iterations");
  StmtPtr body = guard->body[0];
  if (!others.empty()) body = loop::make_if(expr::conjunction(others), body);
  e.replace(old, loop::make_if(expr::conjunction(fixed), loop::make_for(old->var, old->extent, old->for_kind, body)));
  return e.commit();
}

}  // namespace pliant::schedule
