// scratch t { for o … { S(t[o, x]) } }  ->  for o … { scratch t { S(t[x]) } }: an intermediate keeps the axes inside the
// loops.
#include <algorithm>

#include "schedule/region.h"

namespace pliant::schedule {

Status Schedule::narrow(std::string_view buffer, std::string_view at, loop::Scope scope) {
  Edit e(*this, "narrow", buffer, "at", at, scope);
  Buffer b = TRY(e.find_buffer(buffer));
  const StmtPtr alloc = e.alloc_of(b.id), home = TRY(e.find_loop(at));
  const std::vector<StmtPtr> path = e.enclosing(home);
  auto inner = std::find(path.begin(), path.end(), alloc);
  if (!alloc || inner == path.end()) return e.refuse("%" + b.name + " is not allocated around loop " + std::string(at));
  const std::vector<Access> uses = accesses_of(home->body[0], b.id);
  if (uses.size() != accesses_of(alloc->body[0], b.id).size())
    return e.refuse("%" + b.name + " is used outside loop " + std::string(at) + " too");

  // An axis each for the loops, so that no iteration sees what another one left.
  std::vector<Dim> base(b.shape.size(), e.ctx.constant(0));
  std::vector<StmtPtr> loops(inner + 1, path.end());
  loops.push_back(home);
  for (const StmtPtr& l : loops) {
    if (l->kind == StmtKind::While) return e.refuse("a While loop lies between %" + b.name + " and its use");
    if (l->kind != StmtKind::For || l->extent.is_const(1)) continue;
    const Dim i = e.ctx.symbol_dim(l->var);
    size_t axis = 0;
    while (axis < base.size() && !std::all_of(uses.begin(), uses.end(), [&](auto& a) { return a.index[axis] == i; })) ++axis;
    if (axis == base.size()) return e.refuse("no axis of %" + b.name + " is that of loop " + e.name_of(l->var));
    base[axis] = i;
  }
  std::vector<int64_t> kept;
  std::vector<Dim> shape;
  for (size_t k = 0; k < base.size(); ++k) {
    if (!base[k].is_const(0)) continue;
    kept.push_back(static_cast<int64_t>(k));
    shape.push_back(b.shape[k]);
  }
  if (kept.empty() && !base.empty()) {
    kept = {0};
    shape = {e.ctx.constant(1)};
  }
  TRY(e.check_scope("what is left of %" + b.name, shape, scope));
  const Inside in = inside_allocs(redirect(home->body[0], b.id, b.id, base, kept, e.ctx));
  b.shape = std::move(shape);
  b.strides.clear();
  b.scope = scope;
  const StmtPtr now = loop::with_body(home, {in.wrap(loop::make_alloc(std::move(b), in.body))});
  e.replace(alloc, loop::rewrite(alloc->body[0], [&](const StmtPtr& s) { return s == home ? now : s; }));
  return e.commit();
}

}  // namespace pliant::schedule
