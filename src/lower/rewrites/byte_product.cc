#include "lower/rewrites/byte_product.h"

#include <algorithm>

namespace pliant::lower {

namespace {

bool is_byte(DType t) { return t == DType::I8 || t == DType::U8; }

// An 8-bit value as i32, or the difference of two.
bool is_factor(Scalar s) {
  if (s->kind == expr::ScalarKind::Cast)
    return s->dtype == DType::I32 && s->args[0]->kind == expr::ScalarKind::Load && is_byte(s->args[0]->dtype);
  return s->kind == expr::ScalarKind::Binary && s->binary() == expr::BinaryOp::Sub &&
         s->args[0]->kind == expr::ScalarKind::Cast && s->args[1]->kind == expr::ScalarKind::Cast && is_factor(s->args[0]) &&
         is_factor(s->args[1]);
}

// Whether a factor is the second one of a matrix product: [… , reduction, last axis of the sum].
bool is_right_matrix(const te::TensorDef& t, Scalar factor) {
  const std::vector<Dim>& index = ByteProduct::byte_of(factor)->index;
  if (index.size() < 2 || t.index.empty() || index.back().as_symbol() != t.index.back()) return false;
  if (index[index.size() - 2].as_symbol() != t.reduce_index[0]) return false;
  const Scalar zero = ByteProduct::zero_of(factor);
  if (zero && expr::uses_symbol(zero, t.reduce_index[0])) return false;
  return std::none_of(index.begin(), index.end() - 2, [&](Dim d) {
    return expr::uses_symbol(d, t.reduce_index[0]) || expr::uses_symbol(d, t.index.back());
  });
}

std::optional<ByteProduct> byte_product_of(const Problem& p, const StageList& list, size_t root) {
  const Stage& s = list.stages[root];
  const te::TensorDef& t = *s.tensor;
  if (t.combiner != te::Combiner::Sum || t.accumulate != DType::I32) return std::nullopt;
  Guarded g = split_guard(p.ctx, s.body, t.combiner, t.accumulate);
  if (g.body->kind != expr::ScalarKind::Binary || g.body->binary() != expr::BinaryOp::Mul) return std::nullopt;
  ByteProduct out{root, g.body->args[0], g.body->args[1], false, {}, {}, {}, 0};
  if (!is_factor(out.x) || !is_factor(out.w)) return std::nullopt;
  if (reads_constants(p, out.x)) std::swap(out.x, out.w);
  if (reads_constants(p, out.x)) return std::nullopt;
  out.is_constant = reads_constants(p, out.w);
  if (!out.is_constant) {
    if (g.guard || t.reduce_index.size() != 1) return std::nullopt;
    if (is_right_matrix(t, out.x)) std::swap(out.x, out.w);
    if (!is_right_matrix(t, out.w)) return std::nullopt;
  }
  out.load = ByteProduct::byte_of(out.x);
  for (Scalar l : expr::loads_of(out.x))
    for (SymbolId r : t.reduce_index)
      if (!(l == out.load) && std::any_of(l->index.begin(), l->index.end(), [&](Dim d) { return expr::uses_symbol(d, r); }))
        return std::nullopt;
  auto found = list.tensors.find(out.load->tensor);
  if (found == list.tensors.end() || out.load->index.empty()) return std::nullopt;
  out.tensor = found->second;
  auto last = out.load->index.back().as_symbol();
  auto tap = last ? std::find(t.reduce_index.begin(), t.reduce_index.end(), *last) : t.reduce_index.end();
  if (tap == t.reduce_index.end()) return std::nullopt;
  out.tap = static_cast<size_t>(tap - t.reduce_index.begin());
  for (size_t a = 0; a + 1 < out.load->index.size(); ++a)
    if (expr::uses_symbol(out.load->index[a], *tap)) return std::nullopt;
  out.guarded.assign(out.tensor->rank(), false);
  if (g.guard && !guards_exactly(p.ctx, g.guard, out.load, out.tensor->shape, out.guarded)) return std::nullopt;
  if (out.guarded.back()) return std::nullopt;
  for (Dim d : t.reduce_extent)
    if (out.is_constant && (!d.is_const() || d.is_const(0))) return std::nullopt;
  return out;
}

}  // namespace

std::optional<ByteProduct> find_byte_product(const Problem& p, const StageList& list) {
  const auto root = last_reduction(p.ctx, list);
  return root ? byte_product_of(p, list, *root) : std::nullopt;
}

te::Index read_at(const BorderedCopy& copy, const ByteProduct& f, const expr::DimMap& map, Dim last) {
  te::Index at;
  for (size_t a = 0; a + 1 < copy.low.size(); ++a) at.push_back(expr::substitute(f.load->index[a] - copy.low[a], map));
  at.push_back(last);
  return at;
}

}  // namespace pliant::lower
