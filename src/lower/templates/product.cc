#include "lower/templates/product.h"

#include "lower/reduction/long_sum.h"

namespace pliant::lower {

bool leaves_cache(const target::Target& target, Dim terms, Dim columns) {
  const Dim size = terms * columns;
  return size.is_const() && size.const_value() * 4 > target.l2_bytes / 2;
}

bool Product::uses(size_t k, bool of_b) const {
  for (Scalar l : expr::loads_of(term))
    if (expr::uses_symbol(l, var(outer() + 1)) == of_b && expr::uses_symbol(l, var(k))) return true;
  return false;
}

std::optional<Product> product_of(const loop::Function& f) {
  Product p;
  std::vector<std::pair<loop::Buffer, loop::StmtPtr>> nests;  // and what they assign
  loop::StmtPtr s = f.body;
  for (; s->kind == loop::StmtKind::Alloc; s = s->body[0]->body[1]) {
    if (s->body[0]->kind != loop::StmtKind::Block || s->body[0]->body.size() != 2) return std::nullopt;
    nests.emplace_back(*s->alloc, s->body[0]->body[0]);
  }
  p.results = perfect_nest(s);
  if (nests.empty() || nests.size() > 2 || p.results.size() < 2) return std::nullopt;
  if (nests.size() == 2) {
    p.panel = nests[0].first;
    p.copy = perfect_nest(nests[0].second);
  }
  p.acc = nests.back().first;
  p.axes = perfect_nest(nests.back().second);
  if (p.axes.size() != p.results.size()) return std::nullopt;
  const loop::StmtPtr body = p.axes.back()->body[0];
  if (body->kind != loop::StmtKind::Block || body->body.size() != 2) return std::nullopt;
  p.terms = perfect_nest(body->body[1]);
  const loop::StmtPtr add = p.terms.empty() ? body->body[1] : p.terms.back()->body[0];
  if (add->kind != loop::StmtKind::Store || add->store_kind != loop::StoreKind::Add) return std::nullopt;
  p.term = add->value;
  return p;
}

ProductSchedule::ProductSchedule(schedule::Schedule& s, const Point& point)
    : TemplateSchedule(s, point),
      p_(*product_of(s.function())),
      outer_(loop_names(s, p_.results)),
      terms_(loop_names(s, p_.terms)),
      zeros_(loop_names(s, p_.axes).back()) {
  column_ = outer_.back();
  row_ = outer_[p_.outer()];
  outer_.resize(p_.outer());
}

Status ProductSchedule::unroll_known_heights(const std::function<bool(const loop::StmtPtr&)>& wanted) {
  const int64_t tiles = (*whole_ + height_ - 1) / height_, higher = tiles == 0 ? 0 : *whole_ % tiles;
  if (higher != 0) TRY(s_.partition(tile_, ctx_.constant(higher), fresh("ma"), fresh("mc")));
  for (const schedule::LoopInfo& l : s_.loops())
    if (base_of(l.name) == row_ && l.kind == loop::ForKind::Serial && wanted(l.loop)) TRY(s_.unroll(l.name));
  return ok();
}

bool ProductSchedule::may_be_long(int64_t terms) const {
  const auto most = const_upper(ctx_, p_.count_terms(ctx_));
  return (p_.acc.dtype == DType::F32 || p_.acc.dtype == DType::F64) && !(most && *most <= terms);
}

Status ProductSchedule::carry(const std::string& loop) {
  const loop::StmtPtr add = perfect_nest(loop_named(s_, loop)).back()->body[0];
  return s_.carry(s_.name_of(add->buffer), loop, kProductBlock, fresh("total"), schedule::Short::Shared);
}

}  // namespace pliant::lower
