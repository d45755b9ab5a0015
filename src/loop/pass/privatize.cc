#include <map>

#include "loop/pass/pass.h"
#include "loop/walk.h"

namespace pliant::loop {
namespace {

// A Local buffer with the lane as its last, innermost axis.
Buffer widened(const Buffer& b, Dim lanes, expr::Context& ctx) {
  Buffer out = b;
  for (Dim& stride : out.strides) stride = stride * lanes;
  if (!out.strides.empty()) out.strides.push_back(ctx.constant(1));
  out.shape.push_back(lanes);
  return out;
}

StmtPtr privatized(const StmtPtr& loop, expr::Context& ctx) {
  std::map<BufferId, Buffer> own;
  std::vector<BufferId> order;
  for_each(loop->body[0], [&](const Stmt& s) {
    if (s.kind != StmtKind::Alloc || s.alloc->scope != Scope::Local) return;
    if (own.emplace(s.alloc->id, widened(*s.alloc, loop->extent, ctx)).second) order.push_back(s.alloc->id);
  });
  if (own.empty()) return loop;
  const Dim lane = ctx.symbol_dim(loop->var);
  StmtPtr body = redirect(loop->body[0], ctx, [&](BufferId b, std::vector<Dim> index) -> std::optional<Element> {
    if (!own.count(b)) return std::nullopt;
    index.push_back(lane);
    return Element{b, std::move(index)};
  });
  body = rewrite(body,
                 [&](const StmtPtr& s) { return s->kind == StmtKind::Alloc && own.count(s->alloc->id) ? s->body[0] : s; });
  StmtPtr out = with_body(loop, {body});
  for (size_t i = order.size(); i-- > 0;) out = make_alloc(own.at(order[i]), out);
  return out;
}

}  // namespace

Function privatize(const Function& f, expr::Context& ctx, const PassOptions&) {
  Function out = f;
  out.body = rewrite(f.body, [&](const StmtPtr& s) {
    return s->kind == StmtKind::For && s->for_kind == ForKind::Vector ? privatized(s, ctx) : s;
  });
  return out;
}

}  // namespace pliant::loop
