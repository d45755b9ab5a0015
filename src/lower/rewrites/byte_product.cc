#include "lower/rewrites/byte_product.h"

#include <algorithm>

#include "lower/rewrites/padding.h"

namespace pliant::lower {

namespace {

bool is_byte(DType t) { return t == DType::I8 || t == DType::U8; }

bool is_constant(const Problem& p, Scalar f) {
  const auto loads = expr::loads_of(f);
  return std::all_of(loads.begin(), loads.end(), [&](Scalar l) {
    for (size_t i = 0; i < p.inputs.size(); ++i)
      if (p.inputs[i] && p.inputs[i]->id == l->tensor) return p.constants[i] != nullptr;
    return false;
  });
}

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
  if (is_constant(p, out.x)) std::swap(out.x, out.w);
  if (is_constant(p, out.x)) return std::nullopt;
  out.is_constant = is_constant(p, out.w);
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

te::Index BorderedCopy::source(const te::Index& i) const {
  te::Index at = i;
  for (size_t a = 0; a + 1 < at.size(); ++a) at[a] = i[a] + low[a];
  return at;
}

Scalar BorderedCopy::exists(const ByteProduct& f, const te::Index& source) const {
  std::vector<Scalar> bounds;
  for (size_t a = 0; a + 1 < source.size(); ++a) {
    if (!f.guarded[a]) continue;
    bounds.push_back(expr::less_equal(source[a]->ctx->constant(0), source[a]));
    bounds.push_back(expr::less(source[a], f.tensor->shape[a]));
  }
  return expr::conjunction(bounds);
}

te::Index BorderedCopy::read_at(const ByteProduct& f, const expr::DimMap& map, Dim last) const {
  te::Index at;
  for (size_t a = 0; a + 1 < shape.size(); ++a) at.push_back(expr::substitute(f.load->index[a] - low[a], map));
  at.push_back(last);
  return at;
}

std::optional<BorderedCopy> bordered_copy(const Problem& p, const StageList& list, const ByteProduct& f) {
  const te::TensorDef& t = *list.stages[f.root].tensor;
  const Dim zero = p.ctx.constant(0);
  const std::vector<Loop> loops = loops_of(t);
  BorderedCopy out{std::vector<Dim>(f.tensor->rank(), zero), f.tensor->shape};
  for (size_t a = 0; a + 1 < out.shape.size(); ++a) {
    if (!f.guarded[a]) continue;
    auto w = window_of(p.ctx, f.load->index[a], loops);
    if (!w) return std::nullopt;
    out.low[a] = w->lowest;
    out.shape[a] = max(zero, w->highest - w->lowest + 1);
  }
  return out;
}

}  // namespace pliant::lower
