#include "loop/pass/flatten.h"

#include <algorithm>
#include <map>

#include "loop/build.h"
#include "loop/walk.h"

namespace pliant::loop {

namespace {

class Flattening {
 public:
  explicit Flattening(expr::Context& ctx) : ctx_(ctx) {}

  void flatten(Buffer& b) {
    std::vector<Dim>& strides = strides_[b.id] = strides_of(b, ctx_);
    if (b.strides.empty()) {
      b.shape = {product(ctx_, b.shape)};
      return;
    }
    Dim end = ctx_.constant(1);
    for (size_t k = 0; k < b.shape.size(); ++k) end = end + (b.shape[k] - 1) * strides[k];
    b.shape = {end};
    b.strides.clear();
  }
  std::vector<Dim> flat(BufferId b, const std::vector<Dim>& index) const { return {offset_of(ctx_, strides_.at(b), index)}; }

 private:
  expr::Context& ctx_;
  std::map<BufferId, std::vector<Dim>> strides_;
};

}  // namespace

StmtPtr without_unit_loops(const StmtPtr& body, expr::Context& ctx) {
  expr::DimMap at_zero;
  for_each(body, [&](const Stmt& s) {
    if (s.kind == StmtKind::For && s.extent.is_const(1)) at_zero[s.var] = ctx.constant(0);
  });
  if (at_zero.empty()) return body;
  return rewrite(substitute(body, at_zero), [&](const StmtPtr& s) -> StmtPtr {
    return s->kind == StmtKind::For && at_zero.count(s->var) ? s->body[0] : s;
  });
}

Function flatten(Function f, expr::Context& ctx) {
  Flattening flattening(ctx);
  for (Buffer& b : f.params) flattening.flatten(b);
  std::map<BufferId, Buffer> allocs;
  f.body = without_unit_loops(f.body, ctx);
  for_each(f.body, [&](const Stmt& s) {
    if (s.alloc) flattening.flatten(allocs[s.alloc->id] = *s.alloc);
  });
  f.body = redirect(f.body, ctx, [&](BufferId b, const std::vector<Dim>& index) {
    return std::optional(Element{b, flattening.flat(b, index)});
  });
  f.body = rewrite(f.body, [&](const StmtPtr& s) { return s->alloc ? make_alloc(allocs.at(s->alloc->id), s->body[0]) : s; });
  return f;
}

}  // namespace pliant::loop
