#include "lower/templates/product.h"

#include "loop/walk.h"

namespace pliant::lower {

bool leaves_cache(const target::Target& target, Dim terms, Dim columns) {
  const Dim size = terms * columns;
  return size.is_const() && size.const_value() * 4 > target.l2_bytes / 2;
}

// Whether a load of the factor that varies along the columns, or of the other one, uses outer loop k.
bool Product::b_uses(size_t k) const {
  for (Scalar l : expr::loads_of(term))
    if (expr::uses_symbol(l, var(outer() + 1)) && expr::uses_symbol(l, var(k))) return true;
  return false;
}
bool Product::a_uses(size_t k) const {
  for (Scalar l : expr::loads_of(term))
    if (!expr::uses_symbol(l, var(outer() + 1)) && expr::uses_symbol(l, var(k))) return true;
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

}  // namespace pliant::lower
