#include "te/analysis.h"

#include <algorithm>

#include "te/cost.h"

namespace pliant::te {

namespace {

// On an axis of size 1 the only index is 0.
bool own_index(const TensorDef& t, size_t axis, Dim d) {
  if (d.is_const(0) && t.shape[axis].is_const(1)) return true;
  auto s = d.as_symbol();
  return s && *s == t.index[axis];
}

// Loads of the bodies, those inside gathered indices included.
std::vector<Scalar> all_loads(const TensorDef& t) {
  std::vector<Scalar> out = expr::loads_of(t.body);
  if (t.base)
    for (Scalar l : expr::loads_of(t.base)) out.push_back(l);
  for (Dim d : t.target)
    for (Scalar l : expr::loads_of(expr::make_index(d))) out.push_back(l);
  return out;
}

bool uses_position(const TensorDef& t, Dim d) {
  return std::any_of(t.index.begin(), t.index.end(), [&](expr::SymbolId s) { return expr::uses_symbol(d, s); });
}

// The position on `axis`, or 0 where that has one element, as known only when it runs: the position times what is 0 then.
bool is_own_or_broadcast(const TensorDef& t, size_t axis, Dim d) {
  if (d.is_const(0) || own_index(t, axis, d)) return true;
  const std::optional<Dim> factor = expr::coefficient_of(d, t.index[axis]);
  return factor && !uses_position(t, *factor) && *factor * t.ctx->symbol_dim(t.index[axis]) == d;
}

bool has_one_element(const TensorDef& t) {
  return std::all_of(t.shape.begin(), t.shape.end(), [](Dim d) { return d.is_const(1); });
}

bool is_placed(const TensorDef& t, Scalar s) {
  switch (s->kind) {
    case expr::ScalarKind::Const:
    case expr::ScalarKind::Index: return true;
    case expr::ScalarKind::Load: return expr::loads_of(s).size() == 1;
    case expr::ScalarKind::Cast: return is_placed(t, s->args[0]);
    case expr::ScalarKind::Select: return is_placed(t, s->args[1]) && is_placed(t, s->args[2]);
    default: break;
  }
  const std::vector<Scalar> loads = expr::loads_of(s);
  return std::all_of(loads.begin(), loads.end(), [&](Scalar l) {
    return std::any_of(t.reads.begin(), t.reads.end(),
                       [&](const Tensor& r) { return r->id == l->tensor && has_one_element(*r); });
  });
}

}  // namespace

bool is_elementwise(const TensorDef& t) {
  if (t.kind != Kind::Map) return false;
  bool good = true;
  for_each_scalar(t.body, [&](Scalar s) {
    if (s->kind == expr::ScalarKind::Index) good = good && !uses_position(t, s->index[0]);
    if (s->kind != expr::ScalarKind::Load) return;
    const size_t rank = s->index.size();
    good = good && rank <= t.rank();
    for (size_t k = 0; good && k < rank; ++k) good = is_own_or_broadcast(t, t.rank() - rank + k, s->index[k]);
  });
  return good;
}

bool is_placement(const TensorDef& t) { return t.kind == Kind::Map && !is_costly(t.body) && is_placed(t, t.body); }

size_t trimmed_rank(const std::vector<Dim>& shape) {
  size_t r = shape.size();
  while (r > 0 && shape[r - 1].is_const(1)) --r;
  return r;
}

bool is_contraction(const TensorDef& t) {
  if (t.kind != Kind::Reduce || t.combiner != Combiner::Sum || !t.body) return false;
  Scalar body = t.body;
  while (body->kind == expr::ScalarKind::Cast) body = body->args[0];
  if (body->kind == expr::ScalarKind::Select) body = body->args[1];
  if (body->kind != expr::ScalarKind::Binary || body->binary() != expr::BinaryOp::Mul) return false;
  bool only_x = false, only_y = false;
  for (size_t i = 0; i < t.index.size(); ++i) {
    if (t.shape[i].is_const(1)) continue;
    bool x = expr::uses_symbol(body->args[0], t.index[i]), y = expr::uses_symbol(body->args[1], t.index[i]);
    only_x = only_x || (x && !y);
    only_y = only_y || (y && !x);
  }
  bool shared = true;  // both factors run along the reduction
  for (expr::SymbolId r : t.reduce_index)
    shared = shared && expr::uses_symbol(body->args[0], r) && expr::uses_symbol(body->args[1], r);
  return shared && !t.reduce_index.empty() && (only_x || only_y) &&
         !(expr::loads_of(body->args[0]).empty() || expr::loads_of(body->args[1]).empty());
}

bool reduces_rows(const TensorDef& t) {
  if (t.kind != Kind::Reduce || t.reduce_index.empty()) return false;
  size_t rank = trimmed_rank(t.shape);
  for (Scalar l : all_loads(t)) {
    if (l->index.size() < rank) return false;
    bool uses_reduction = false;
    for (expr::SymbolId r : t.reduce_index)
      for (Dim d : l->index) uses_reduction = uses_reduction || expr::uses_symbol(d, r);
    if (!uses_reduction) continue;
    for (size_t i = 0; i < rank; ++i)
      if (!own_index(t, i, l->index[i])) return false;
  }
  return true;
}

bool reads_in_place(const TensorDef& reader, const TensorDef& from) {
  if (!(reader.shape == from.shape)) return false;
  return reads_own_rows(reader, from, from.shape.size());
}

bool reads_own_rows(const TensorDef& reader, const TensorDef& from, size_t rank) {
  if (reader.shape.size() < rank || from.shape.size() < rank || reader.index.size() < rank) return false;
  for (size_t i = 0; i < rank; ++i)
    if (!(reader.shape[i] == from.shape[i])) return false;
  for (Scalar l : all_loads(reader)) {
    if (l->tensor != from.id) continue;
    for (size_t i = 0; i < rank; ++i)
      if (!own_index(reader, i, l->index[i])) return false;
  }
  return true;
}

std::optional<Permutation> as_permutation(const TensorDef& t) {
  if (t.kind != Kind::Map || t.body->kind != expr::ScalarKind::Load || t.reads.size() != 1) return std::nullopt;
  Permutation p{t.reads[0], std::vector<size_t>(t.index.size(), SIZE_MAX)};
  if (t.body->index.size() != t.index.size()) return std::nullopt;
  for (size_t a = 0; a < t.index.size(); ++a) {
    bool found = false;
    for (size_t k = 0; k < t.index.size() && !found; ++k)
      if (own_index(t, k, t.body->index[a]) && p.axes[k] == SIZE_MAX && t.shape[k] == p.from->shape[a]) {
        p.axes[k] = a;
        found = true;
      }
    if (!found) return std::nullopt;
  }
  return p;
}

}  // namespace pliant::te
