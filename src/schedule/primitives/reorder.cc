// Another order of the loops of a perfect nest.
//
// Iterations that touch one element in a way that matters (see dependence.h) agree on some of the loops; of the others, at
// least one of which differs, the order must stay, so that those iterations keep theirs.
#include <algorithm>

#include "schedule/dependence.h"

namespace pliant::schedule {
namespace {

// The loops from `outermost` down to the innermost of `wanted`, each holding only the next.
Result<std::vector<StmtPtr>> perfect_nest(const Edit& e, const std::vector<StmtPtr>& wanted) {
  auto is_wanted = [&](const StmtPtr& s) { return std::find(wanted.begin(), wanted.end(), s) != wanted.end(); };
  StmtPtr top;
  for (const StmtPtr& w : wanted) {
    auto path = e.enclosing(w);
    if (std::none_of(path.begin(), path.end(), is_wanted)) {
      if (top) return e.refuse("the loops are not in one nest");
      top = w;
    }
  }
  std::vector<StmtPtr> nest;
  size_t found = 0;
  for (StmtPtr s = top;; s = s->body[0]) {
    if (s->kind != StmtKind::For)
      return e.refuse("loop " + e.name_of(nest.back()->var) + " holds more than the next loop; `fission` may separate it");
    nest.push_back(s);
    found += is_wanted(s);
    if (found == wanted.size()) return nest;
  }
}

Status check_order(const Edit& e, const std::vector<StmtPtr>& before, const std::vector<StmtPtr>& after) {
  std::set<SymbolId> vars;
  for (const StmtPtr& s : before) vars.insert(s->var);
  Extents vary = loops_below(before[0]);
  std::vector<Access> accesses = accesses_of(before.back()->body[0]);
  auto order = [&](const std::vector<StmtPtr>& nest, const std::set<SymbolId>& left_out) {
    std::vector<SymbolId> out;
    for (const StmtPtr& s : nest)
      if (!left_out.count(s->var)) out.push_back(s->var);
    return out;
  };
  for (const Access& a : accesses)
    for (const Access& b : accesses) {
      if (!ordered(a, b)) continue;
      std::set<SymbolId> same = determined(a, b, vars, vary, e);
      if (order(before, same) != order(after, same))
        return e.refuse("iterations touch the same elements of %" + loop::find_buffer(e.function, a.buffer)->name +
                        " in an order that would change");
    }
  return ok();
}

}  // namespace

Status Schedule::reorder(const std::vector<std::string>& names) {
  Edit e(*this, "reorder", names);
  std::vector<StmtPtr> wanted;
  for (const std::string& n : names) {
    wanted.push_back(TRY(e.find_loop(n)));
    if (std::count(wanted.begin(), wanted.end(), wanted.back()) > 1) return e.refuse("loop " + n + " is named twice");
  }
  if (wanted.empty()) return e.refuse("no loop is named");
  std::vector<StmtPtr> nest = TRY(perfect_nest(e, wanted)), after;
  size_t next = 0;
  for (const StmtPtr& s : nest) {
    bool moves = std::find(wanted.begin(), wanted.end(), s) != wanted.end();
    after.push_back(moves ? wanted[next++] : s);
  }
  for (size_t i = 0; i < after.size(); ++i)
    for (size_t j = i + 1; j < after.size(); ++j)
      if (expr::uses_symbol(after[i]->extent, after[j]->var))
        return e.refuse("the extent of loop " + e.name_of(after[i]->var) + " depends on " + e.name_of(after[j]->var));
  TRY(check_order(e, nest, after));
  StmtPtr body = nest.back()->body[0];
  for (size_t i = after.size(); i-- > 0;) body = loop::with_body(after[i], {body});
  e.replace(nest[0], body);
  return e.commit();
}

}  // namespace pliant::schedule
