#include "loop/walk.h"

#include <map>

namespace pliant::loop {

void for_each(const StmtPtr& root, const std::function<void(const Stmt&)>& f) {
  if (!root) return;
  f(*root);
  for (const StmtPtr& s : root->body) for_each(s, f);
}

void for_each_dim(const Stmt& s, const std::function<void(Dim)>& f) {
  if (s.extent) f(s.extent);
  for (Dim d : s.index) f(d);
}

StmtPtr with_body(const StmtPtr& s, std::vector<StmtPtr> body) {
  if (body == s->body) return s;
  if (s->kind == StmtKind::Block) return make_block(std::move(body));
  if (s->kind == StmtKind::If) {
    StmtPtr otherwise = body.size() > 1 ? body[1] : nullptr;
    if (!body[0] && !otherwise) return nullptr;
    return make_if(s->value, body[0] ? body[0] : make_block({}), otherwise);
  }
  if (!s->body.empty() && !body[0]) return nullptr;
  Stmt copy = *s;
  copy.body = std::move(body);
  return std::make_shared<Stmt>(std::move(copy));
}

StmtPtr rewrite(const StmtPtr& root, const std::function<StmtPtr(const StmtPtr&)>& f) {
  std::vector<StmtPtr> body;
  body.reserve(root->body.size());
  for (const StmtPtr& s : root->body) body.push_back(rewrite(s, f));
  StmtPtr same = with_body(root, std::move(body));
  return same ? f(same) : nullptr;
}

namespace {

std::vector<Dim> substitute_all(const std::vector<Dim>& dims, const expr::DimMap& map,
                                const std::function<Scalar(Scalar)>& load) {
  std::vector<Dim> out;
  out.reserve(dims.size());
  // Loads inside Value atoms are reached through the index sort of Scalars.
  for (Dim d : dims) {
    if (!load || expr::loads_of(expr::make_index(d)).empty()) {
      out.push_back(expr::substitute(d, map));
    } else {
      Scalar s = expr::substitute(expr::make_index(d), map, load);
      out.push_back(s->kind == expr::ScalarKind::Index ? s->index[0] : expr::value(s));
    }
  }
  return out;
}

}  // namespace

StmtPtr substitute(const StmtPtr& root, const expr::DimMap& map, const std::function<Scalar(Scalar load)>& load) {
  return rewrite(root, [&](const StmtPtr& s) -> StmtPtr {
    Stmt copy = *s;
    if (copy.extent) copy.extent = substitute_all({copy.extent}, map, load)[0];
    copy.index = substitute_all(copy.index, map, load);
    if (copy.value) copy.value = expr::substitute(copy.value, map, load);
    if (copy.alloc) {
      Buffer b = *copy.alloc;
      b.shape = substitute_all(b.shape, map, load);
      b.strides = substitute_all(b.strides, map, load);
      if (b.shape != copy.alloc->shape || b.strides != copy.alloc->strides)
        copy.alloc = std::make_shared<const Buffer>(std::move(b));
    }
    bool same = copy.extent == s->extent && copy.index == s->index && copy.value == s->value && copy.alloc == s->alloc;
    return same ? s : std::make_shared<Stmt>(std::move(copy));
  });
}

StmtPtr fresh_copy(const StmtPtr& root, expr::Context& ctx) {
  expr::DimMap vars;
  std::map<BufferId, BufferId> buffers;
  std::map<SymbolId, SymbolId> renamed;
  for_each(root, [&](const Stmt& s) {
    if (binds_variable(s) && !renamed.count(s.var)) {
      Dim fresh;
      if (s.kind == StmtKind::For) {
        fresh = ctx.index_symbol(ctx.info(s.var).name, expr::substitute(s.extent, vars));
      } else {
        expr::SymbolInfo info = ctx.info(s.var);
        if (info.upper) info.upper = expr::substitute(*info.upper, vars);
        fresh = ctx.symbol(std::move(info));
      }
      vars[s.var] = fresh;
      renamed[s.var] = *fresh.as_symbol();
    }
    if (s.alloc) buffers[s.alloc->id] = ctx.fresh_tensor();
  });
  auto load = [&](Scalar l) {
    auto it = buffers.find(l->tensor);
    return it == buffers.end() ? l : expr::make_load(ctx, it->second, l.dtype(), l->index);
  };
  StmtPtr copy = substitute(root, vars, buffers.empty() ? std::function<Scalar(Scalar)>{} : load);
  return rewrite(copy, [&](const StmtPtr& s) -> StmtPtr {
    Stmt c = *s;
    if (binds_variable(*s)) c.var = renamed.at(s->var);
    if (auto it = buffers.find(s->buffer); s->kind == StmtKind::Store && it != buffers.end()) c.buffer = it->second;
    if (s->alloc) {
      Buffer b = *s->alloc;
      b.id = buffers.at(b.id);
      c.alloc = std::make_shared<const Buffer>(std::move(b));
    }
    return std::make_shared<Stmt>(std::move(c));
  });
}

}  // namespace pliant::loop
