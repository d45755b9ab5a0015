// for l { y = select(c, a, b) }  ->  for l { if c { y = a } else { y = b } } where c is the same in all iterations of l.
#include "schedule/edit.h"

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

}  // namespace pliant::schedule
