// scratch t { for v … { t[v] = … } … for o … { S(t) } }  ->  … for o … { scratch t { for v in tile { t[v] = … } S(t) } }.
#include <algorithm>

#include "expr/parts.h"
#include "schedule/region.h"

namespace pliant::schedule {
namespace {

// The nest that computes an allocated buffer.
struct Producer {
  StmtPtr alloc;
  StmtPtr nest;
  std::vector<StmtPtr> loops;  // the loop of each dimension of the buffer
  StmtPtr body;                // inside these loops: assigns the element at their variables
};
// The buffer's producer, when it can run elsewhere: it is one nest over all elements, writes nothing else, and what it reads
// does not change while the buffer lives.
Result<Producer> find_producer(const Edit& e, const Buffer& b) {
  std::string name = "%" + b.name;
  Producer p;
  p.alloc = e.alloc_of(b.id);
  if (!p.alloc) return e.refuse(name + " is not an allocated buffer");
  Inside in = inside_allocs(p.alloc->body[0]);
  for (const StmtPtr& part : statements_of(in.body)) {
    auto accesses = accesses_of(part);
    if (std::none_of(accesses.begin(), accesses.end(), [&](auto& a) { return a.buffer == b.id && a.is_store; })) continue;
    if (p.nest) return e.refuse("several statements write " + name);
    p.nest = part;
  }
  if (!p.nest) return e.refuse("no statement writes " + name);
  // The outer loops, as many as the buffer has dims.
  std::vector<StmtPtr> loops;
  p.body = p.nest;
  for (size_t k = 0; k < b.shape.size(); ++k, p.body = p.body->body[0]) {
    if (p.body->kind != StmtKind::For) return e.refuse(name + " is not written by a nest over its dims");
    loops.push_back(p.body);
  }
  auto accesses = accesses_of(p.body);
  std::vector<Dim> index;
  std::set<BufferId> reads;
  for (const Access& a : accesses) {
    if (a.buffer != b.id && a.is_store) return e.refuse("the nest that writes " + name + " writes another buffer too");
    if (a.buffer != b.id) reads.insert(a.buffer);
    if (a.buffer != b.id) continue;
    if (index.empty()) index = a.index;
    if (a.index != index) return e.refuse("the nest that writes " + name + " touches several elements at a time");
  }
  for (size_t k = 0; k < index.size(); ++k) {
    auto var = index[k].as_symbol();
    auto at = std::find_if(loops.begin(), loops.end(), [&](auto& l) { return var && l->var == *var; });
    if (at == loops.end() || !e.ctx.proves_equal((*at)->extent, b.shape[k]))
      return e.refuse(name + " is not written by a nest over its dims");
    p.loops.push_back(*at);
    loops.erase(at);
  }
  if (find_first(p.nest, [](const Stmt& s) { return s.kind == StmtKind::Check; }))
    return e.refuse("the nest that writes " + name + " holds a check");
  for (const Access& a : accesses_of(p.alloc->body[0]))
    if (a.is_store && reads.count(a.buffer)) return e.refuse("what " + name + " is computed from changes while it lives");
  if (find_first(p.alloc->body[0], [&](const Stmt& s) { return s.alloc && reads.count(s.alloc->id) > 0; }))
    return e.refuse(name + " is computed from a buffer that is allocated inside it");
  return p;
}

struct CertainAccess {
  BufferId buffer;
  std::vector<Dim> index;
  Extents loops;
};
// What `s` touches under no condition but that its loops run.
void certain_accesses(const StmtPtr& s, Extents& loops, std::vector<CertainAccess>& out) {
  if (s->kind == StmtKind::If || s->kind == StmtKind::While) return;
  if (s->kind == StmtKind::Store) {
    out.push_back({s->buffer, s->index, loops});
    for (Scalar l : expr::unconditional_loads(s->value)) out.push_back({l->tensor, l->index, loops});
  }
  if (s->kind == StmtKind::For) loops.emplace_back(s->var, s->extent);
  for (const StmtPtr& child : s->body) certain_accesses(child, loops, out);
  if (s->kind == StmtKind::For) loops.pop_back();
}

// The part that exists of `region`, which the reads of `b` in the body of loop `home` span. They all have one index. In a
// dimension in which it takes each value between its bounds, all of them exist where something that is touched whenever the
// reads are has an axis of the same extent and is touched at the same places of it.
Clamped existing(const Edit& e, const StmtPtr& home, const Buffer& b, const Region& region) {
  Clamped part = clamp(region, b.shape, e.ctx);
  const StmtPtr body = without_lets(home->body[0]);
  std::optional<std::vector<Dim>> index;
  for (const Access& a : accesses_of(body, b.id)) {
    if (index && *index != a.index) return part;
    index = a.index;
  }
  const Extents inner = loops_below(body);
  auto steps_by_one = [&](Dim d) {
    size_t vars = 0;
    for (auto& [var, extent] : inner) {
      if (!expr::uses_symbol(d, var)) continue;
      const auto c = expr::coefficient_of(d, var);
      if (++vars > 1 || !c || !c->is_const(1)) return false;
    }
    return true;
  };
  std::vector<CertainAccess> certain;
  auto add = [&](const StmtPtr& s) {
    Extents loops;
    certain_accesses(s, loops, certain);
  };
  add(body);
  // The loops around run where the reads do.
  const std::vector<StmtPtr> around = e.enclosing(home);
  for (size_t k = around.size(); k-- > 0 && around[k]->kind != StmtKind::If && around[k]->kind != StmtKind::While;)
    if (around[k]->kind == StmtKind::Block)
      for (const StmtPtr& s : around[k]->body) add(s);
  auto runs = [&](const std::pair<SymbolId, Dim>& l) {
    return std::any_of(inner.begin(), inner.end(), [&](auto& i) { return i.second == l.second; });
  };
  auto exists = [&](size_t k) {
    return std::any_of(certain.begin(), certain.end(), [&](const CertainAccess& a) {
      if (!std::all_of(a.loops.begin(), a.loops.end(), runs)) return false;
      const Buffer& other = *loop::find_buffer(e.function, a.buffer);
      for (size_t d = 0; d < a.index.size(); ++d) {
        if (other.shape[d] != b.shape[k] || other.id == b.id) continue;
        const auto at = bounds_of(a.index[d], a.loops, e.ctx);
        if (at && at->lo == region.base[k] && at->hi == region.base[k] + region.size[k] - 1) return true;
      }
      return false;
    });
  };
  for (size_t k = 0; index && k < b.shape.size(); ++k) {
    if (part.start[k] == region.base[k] && part.count[k] == region.size[k]) continue;
    if (!steps_by_one((*index)[k]) || !exists(k)) continue;
    part.start[k] = region.base[k];
    part.count[k] = region.size[k];
  }
  return part;
}

}  // namespace

Status Schedule::compute_at(std::string_view buffer, std::string_view at) {
  Edit e(*this, "compute_at", buffer, "at", at);
  Buffer b = TRY(e.find_buffer(buffer));
  Producer p = TRY(find_producer(e, b));
  StmtPtr home = TRY(e.find_loop(at));
  auto path = e.enclosing(home);
  if (std::find(path.begin(), path.end(), p.alloc) == path.end() ||
      std::find(path.begin(), path.end(), p.nest) != path.end() || home == p.nest)
    return e.refuse("loop " + std::string(at) + " is not where %" + b.name + " is read");
  auto reads_in = [&](const StmtPtr& s) { return accesses_of(s, b.id).size(); };
  if (reads_in(p.alloc->body[0]) != reads_in(home->body[0]) + reads_in(p.nest))
    return e.refuse("%" + b.name + " is read outside loop " + std::string(at) + " too");
  Inside in = inside_allocs(home->body[0]);
  const auto [region, shape] = TRY(tile_of(e, b, in.body, b.scope));
  const Clamped part = existing(e, home, b, region);
  expr::DimMap vars;
  std::vector<Dim> index;
  for (size_t k = 0; k < p.loops.size(); ++k) {
    index.push_back(part.count[k].is_const(1) ? e.ctx.constant(0) : e.rename(p.loops[k]->var, part.count[k]));
    vars[p.loops[k]->var] = part.start[k] + index[k];
  }
  StmtPtr fill = redirect(e.substitute(p.body, vars), b.id, b.id, region.base, {}, e.ctx);
  for (size_t k = p.loops.size(); k-- > 0;)
    if (!part.count[k].is_const(1)) fill = make_for(index[k], part.count[k], ForKind::Serial, fill);
  StmtPtr body = redirect(in.body, b.id, b.id, region.base, {}, e.ctx);
  Buffer tile = b;
  tile.shape = shape;
  tile.strides.clear();
  StmtPtr moved = loop::with_body(home, {in.wrap(loop::make_alloc(tile, loop::make_block({fill, body})))});
  StmtPtr rest = loop::rewrite(p.alloc->body[0], [&](const StmtPtr& s) {
    return s == p.nest ? nullptr : s == home ? moved : s;
  });
  e.replace(p.alloc, rest);
  return e.commit();
}

}  // namespace pliant::schedule
