#include "lower/templates/product.h"

#include <algorithm>

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

Scalar Product::b_in_panels() const {
  for (Scalar l : expr::loads_of(term))
    if (l->index.back().as_symbol() == var(outer() + 1)) return l;
  return {};
}

bool Product::copies_along_reduction() const {
  if (terms.empty()) return false;
  const SymbolId k = copy[copy.size() - 2]->var, column = copy.back()->var;
  const std::vector<Scalar> loads = expr::loads_of(copy.back()->body[0]->value);
  return std::all_of(loads.begin(), loads.end(), [&](Scalar l) {
    const auto by_k = expr::coefficient_of(l->index[0], k), by_column = expr::coefficient_of(l->index[0], column);
    return by_k && by_k->is_const(1) && !(by_column && by_column->is_const(1));
  });
}

int64_t Product::row_bytes(expr::Context& ctx) const {
  const Dim k = count_terms(ctx);
  int64_t elements = k.is_const() ? k.const_value() : 256;
  for (Scalar l : expr::loads_of(term)) {
    if (expr::uses_symbol(l, var(outer() + 1))) continue;
    const auto s = stride_in(ctx, l->index[0], var(outer()));
    if (s && s->is_const() && s->const_value() > 0) elements = std::min(elements, s->const_value());
  }
  return std::max<int64_t>(64, elements * 4);
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
