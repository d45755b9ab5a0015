#include "schedule/producer.h"

#include <algorithm>

namespace pliant::schedule {

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

}  // namespace pliant::schedule
