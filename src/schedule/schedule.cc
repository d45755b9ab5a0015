#include "schedule/schedule.h"

#include <algorithm>

#include "schedule/edit.h"

namespace pliant::schedule {
namespace {

// Without the suffix that a Context adds to tell equal names apart.
std::string stem_of(const std::string& name) {
  size_t at = name.find_last_not_of("0123456789");
  bool suffix = at != std::string::npos && at > 0 && name[at] == '_' && at + 1 < name.size();
  return suffix ? name.substr(0, at) : name;
}

template <class Map>
std::string unused(const Map& map, const std::string& base) {
  std::string name = base;
  for (int k = 1; map.count(name); ++k) name = base + "." + std::to_string(k);
  return name;
}

}  // namespace

Schedule::Schedule(loop::Function f, expr::Context& ctx, Verify each) : function_(std::move(f)), ctx_(ctx), each_(each) {
  for (const Buffer& b : function_.params) buffers_[unused(buffers_, b.name)] = b.id;
  std::set<SymbolId> seen;
  std::set<BufferId> declared;
  // Loops that share a variable, and Allocs that share a buffer, become distinct.
  auto visit = [&](auto&& self, const StmtPtr& s) -> StmtPtr {
    StmtPtr now = s;
    bool again =
        (s->kind == StmtKind::For && !seen.insert(s->var).second) || (s->alloc && !declared.insert(s->alloc->id).second);
    if (again) now = loop::fresh_copy(s, ctx_);
    if (again && now->kind == StmtKind::For) seen.insert(now->var);
    if (again && now->alloc) declared.insert(now->alloc->id);
    if (now->kind == StmtKind::For) vars_[unused(vars_, stem_of(ctx_.info(now->var).name))] = now->var;
    if (now->alloc) buffers_[unused(buffers_, now->alloc->name)] = now->alloc->id;
    std::vector<StmtPtr> body;
    for (const StmtPtr& child : now->body) body.push_back(self(self, child));
    return loop::with_body(now, std::move(body));
  };
  function_.body = visit(visit, function_.body);
  for (SymbolId s : loop::free_symbols(function_)) symbols_.insert(s);
  used_ = symbols_;
  used_.insert(seen.begin(), seen.end());
}

std::vector<LoopInfo> Schedule::loops() const {
  std::vector<LoopInfo> out;
  std::map<SymbolId, const std::string*> names;
  for (auto& [name, var] : vars_) names[var] = &name;
  auto visit = [&](auto&& self, const StmtPtr& s, int depth) -> void {
    if (s->kind == StmtKind::For) {
      const auto named = names.find(s->var);
      out.push_back(
          {named == names.end() ? ctx_.info(s->var).name : *named->second, s->var, s->extent, s->for_kind, depth++, s});
    }
    for (const StmtPtr& child : s->body) self(self, child, depth);
  };
  visit(visit, function_.body, 0);
  return out;
}

const std::string& Schedule::name_of(loop::BufferId id) const {
  const auto named = std::find_if(buffers_.begin(), buffers_.end(), [&](auto& b) { return b.second == id; });
  PLIANT_CHECK(named != buffers_.end()) << "kernel " << function_.name << " has no buffer " << id;
  return named->first;
}

}  // namespace pliant::schedule
