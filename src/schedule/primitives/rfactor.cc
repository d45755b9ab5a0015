// for o … { for i in E { y op= e(i) } }  ->  local t { t = identity, for o … { for i in E { t[i mod C] op= e(i) } }, for v
// in C { y op= t[v] } }: C running values, so that C iterations in a row do not depend on each other.
#include <algorithm>

#include "schedule/dependence.h"
#include "schedule/primitives/tail.h"

namespace pliant::schedule {

bool starts_at_zero(const Edit& e, const StmtPtr& outer, const Stmt& update) {
  const std::vector<StmtPtr> path = e.enclosing(outer);
  const std::vector<StmtPtr> around = path.empty() ? std::vector<StmtPtr>{} : statements_of(path.back());
  const auto at = std::find(around.begin(), around.end(), outer);
  if (at == around.end() || at == around.begin()) return false;
  const Stmt& before = **(at - 1);
  return before.kind == StmtKind::Store && before.buffer == update.buffer && before.index == update.index &&
         before.store_kind == StoreKind::Assign && before.value->kind == expr::ScalarKind::Const && before.value->bits == 0;
}

Status Schedule::rfactor(std::string_view lane, int64_t lanes, std::string_view at, std::string_view name,
                         loop::Scope scope) {
  Edit e(*this, "rfactor", lane, lanes, "at", at, "->", name, scope);
  if (lanes < 1 || lanes > kMostLanes) return e.refuse("there may be 1 to " + std::to_string(kMostLanes) + " lanes");
  StmtPtr inner = TRY(e.find_loop(lane)), outer = TRY(e.find_loop(at));
  auto path = e.enclosing(inner);
  if (inner != outer && std::find(path.begin(), path.end(), outer) == path.end())
    return e.refuse("loop " + std::string(lane) + " is not inside " + std::string(at));
  if (outer->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(at) + " is parallel");
  int stores = 0;
  loop::for_each(outer, [&](const Stmt& s) { stores += s.kind == StmtKind::Store; });
  const StmtPtr store = find_first(inner, [](const Stmt& s) { return s.kind == StmtKind::Store; });
  if (stores != 1 || !store)
    return e.refuse("loop " + std::string(at) + " holds more than one updating store inside " + std::string(lane));
  const Buffer y = *loop::find_buffer(e.function, store->buffer);
  auto identity = loop::identity_of(store->store_kind, y.dtype, e.ctx);
  if (!identity) return e.refuse("%" + y.name + " is assigned, not updated");
  for (auto& [var, extent] : loops_below(outer))
    for (Dim d : store->index)
      if (expr::uses_symbol(d, var))
        return e.refuse("the element of %" + y.name + " that is updated depends on " + e.name_of(var));
  for (const Access& a : accesses_of(outer))
    if (a.buffer == y.id && !a.is_store) return e.refuse("loop " + std::string(at) + " reads %" + y.name);
  if (scope == Scope::Param) return e.refuse("parts of a param are no param");
  if (starts_at_zero(e, outer, *store)) identity = expr::make_const(e.ctx, y.dtype, 0);

  Buffer part = TRY(e.new_buffer(name, y.dtype, {e.ctx.constant(lanes)}, scope));
  Dim size = part.shape[0], lane_index = expr::mod(e.ctx.symbol_dim(inner->var), lanes);
  auto over = [&](const char* what, const loop::MakeBody& body) {
    return e.derived_loop(part.name + what, size, ForKind::Serial, body, lanes - 1);
  };
  StmtPtr clear = over(".in", [&](Dim v) { return loop::make_store(part.id, {v}, *identity); });
  StmtPtr sum = loop::rewrite(outer, [&](const StmtPtr& s) {
    return s == store ? loop::make_store(part.id, {lane_index}, s->value, s->store_kind) : s;
  });
  StmtPtr gather = over(".out", [&](Dim v) {
    return loop::make_store(y.id, store->index, expr::make_load(e.ctx, part.id, part.dtype, {v}), store->store_kind);
  });
  e.replace(outer, loop::make_alloc(std::move(part), loop::make_block({clear, sum, gather})));
  return e.commit();
}

}  // namespace pliant::schedule
