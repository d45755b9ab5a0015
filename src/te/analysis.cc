#include "te/analysis.h"

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

}  // namespace

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
