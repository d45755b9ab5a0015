#include "loop/walk.h"

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

void for_each_load(const Stmt& s, const std::function<void(Scalar)>& f) {
  for_each_dim(s, [&](Dim d) {
    for (Scalar l : expr::loads_of(expr::make_index(d))) f(l);
  });
  if (!s.value) return;
  for (Scalar l : expr::loads_of(s.value)) f(l);
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
  return changed(s, [&](Stmt& c) { c.body = std::move(body); });
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
      out.push_back(expr::value(expr::substitute(expr::make_index(d), map, load)));
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

StmtPtr redirect(const StmtPtr& root, expr::Context& ctx,
                 const std::function<std::optional<Element>(BufferId, const std::vector<Dim>&)>& to) {
  const StmtPtr loads = substitute(root, {}, [&](Scalar l) {
    const std::optional<Element> e = to(l->tensor, l->index);
    return e ? expr::make_load(ctx, e->buffer, l.dtype(), e->index) : l;
  });
  return rewrite(loads, [&](const StmtPtr& s) -> StmtPtr {
    if (s->kind != StmtKind::Store) return s;
    std::optional<Element> e = to(s->buffer, s->index);
    if (!e) return s;
    return changed(s, [&](Stmt& c) {
      c.buffer = e->buffer;
      c.index = std::move(e->index);
    });
  });
}

StmtPtr renamed(const StmtPtr& root, const Renaming& names, expr::Context& ctx) {
  auto load = [&](Scalar l) {
    const auto it = names.buffers.find(l->tensor);
    return it == names.buffers.end() ? l : expr::make_load(ctx, it->second.id, l.dtype(), l->index);
  };
  const StmtPtr copy = substitute(root, names.vars, names.buffers.empty() ? std::function<Scalar(Scalar)>{} : load);
  return rewrite(copy, [&](const StmtPtr& s) {
    return changed(s, [&](Stmt& c) {
      if (binds_variable(*s)) c.var = *names.vars.at(s->var).as_symbol();
      if (auto it = names.buffers.find(s->buffer); s->kind == StmtKind::Store && it != names.buffers.end())
        c.buffer = it->second.id;
      if (!s->alloc) return;
      Buffer b = *s->alloc;
      b.name = names.buffers.at(b.id).name;
      b.id = names.buffers.at(b.id).id;
      c.alloc = std::make_shared<const Buffer>(std::move(b));
    });
  });
}

StmtPtr fresh_copy(const StmtPtr& root, expr::Context& ctx) {
  Renaming names;
  for_each(root, [&](const Stmt& s) {
    if (binds_variable(s) && !names.vars.count(s.var)) {
      if (s.kind == StmtKind::For) {
        names.vars[s.var] = ctx.index_symbol(ctx.info(s.var).name, expr::substitute(s.extent, names.vars));
      } else {
        expr::SymbolInfo info = ctx.info(s.var);
        if (info.upper) info.upper = expr::substitute(*info.upper, names.vars);
        names.vars[s.var] = ctx.symbol(std::move(info));
      }
    }
    if (s.alloc) names.buffers[s.alloc->id] = {ctx.fresh_tensor(), s.alloc->name};
  });
  return renamed(root, names, ctx);
}

}  // namespace pliant::loop
