// A window that reaches over the border reads zeros there. A guard in the innermost loop costs more than one pass that
// writes the input into a zero-bordered buffer, so the guard
//   select(0 <= e && e < H, x[…, e, …], 0)   with e = stride * o + dilation * k - pad
// becomes a load of the copy at e - min(e), whose axis has max(e) - min(e) + 1 positions.
#include "lower/rewrites/padding.h"

#include <algorithm>

#include "lower/epilogue.h"

namespace pliant::lower {

bool guards_exactly(expr::Context& ctx, Scalar guard, Scalar load, const std::vector<Dim>& shape,
                    std::vector<bool>& guarded) {
  std::vector<Scalar> terms = conjuncts_of(guard);
  guarded.assign(shape.size(), false);
  for (Scalar t : terms) {
    bool found = false;
    for (size_t a = 0; a < shape.size() && !found; ++a) {
      Dim e = load->index[a];
      found = t == expr::less_equal(ctx.constant(0), e) || t == expr::less(e, shape[a]) ||
              t == expr::less_equal(e, shape[a] - 1) || t == expr::less(ctx.constant(-1), e);
      if (found) guarded[a] = true;
    }
    if (!found) return false;
  }
  return true;
}

// x - zero_point, for one, does not vanish with x.
bool vanishes_with(Scalar s, Scalar load) {
  if (s == load) return true;
  if (s->kind == expr::ScalarKind::Cast) return vanishes_with(s->args[0], load);
  bool product = s->kind == expr::ScalarKind::Binary && s->binary() == expr::BinaryOp::Mul;
  return product && (vanishes_with(s->args[0], load) || vanishes_with(s->args[1], load));
}

std::optional<BorderedCopy> bordered_copy(Scalar load, const std::vector<Dim>& shape, const std::vector<bool>& guarded,
                                          const std::vector<Loop>& loops) {
  const Dim zero = load->ctx->constant(0);
  BorderedCopy out{guarded, std::vector<Dim>(shape.size(), zero), shape};
  for (size_t a = 0; a < shape.size(); ++a) {
    if (!guarded[a]) continue;
    const Dim e = load->index[a];
    Dim lo = e, hi = e;
    for (const Loop& l : loops) {
      if (!expr::uses_symbol(e, l.var)) continue;
      auto c = expr::coefficient_of(e, l.var);
      if (!c || !c->is_const()) return std::nullopt;
      Dim last = l.extent - 1;
      lo = expr::substitute(lo, {{l.var, c->const_value() > 0 ? zero : last}});
      hi = expr::substitute(hi, {{l.var, c->const_value() > 0 ? last : zero}});
    }
    out.low[a] = lo;
    out.shape[a] = max(zero, hi - lo + 1);
  }
  return out;
}

te::Index BorderedCopy::source(const te::Index& i) const {
  te::Index at = i;
  for (size_t a = 0; a < at.size(); ++a) at[a] = i[a] + low[a];
  return at;
}

Scalar BorderedCopy::exists(const std::vector<Dim>& of, const te::Index& source) const {
  std::vector<Scalar> bounds;
  for (size_t a = 0; a < source.size(); ++a) {
    if (!guarded[a]) continue;
    bounds.push_back(expr::less_equal(source[a]->ctx->constant(0), source[a]));
    bounds.push_back(expr::less(source[a], of[a]));
  }
  return expr::conjunction(bounds);
}

namespace {

te::Tensor tensor_of(const Problem& p, Scalar load) {
  for (const te::Tensor& in : p.inputs)
    if (in && in->id == load->tensor) return in;
  for (const te::Tensor& s : te::stages_of(p.outputs))  // a stage that is kept, or the load would have been inlined
    if (s->id == load->tensor) return s;
  return nullptr;
}

// Whether the element is there where the guard does not hold as well.
bool exists_without(const Problem& p, Scalar guard, Scalar load) {
  const te::Tensor x = tensor_of(p, load);
  for (size_t a = 0; a < load->index.size(); ++a) {
    const Dim e = load->index[a];
    const std::vector<SymbolId> symbols = expr::symbols_of(e);
    const bool moves = std::any_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return expr::uses_symbol(guard, s); });
    if (moves && !(x && p.ctx.proves_less_equal(p.ctx.constant(0), e) && p.ctx.proves_less(e, x->shape[a]))) return false;
  }
  return true;
}

}  // namespace

std::optional<Padded> make_padded(const Problem& p, const Stage& root) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *root.tensor;
  Guarded g = split_guard(ctx, root.body, t.combiner, t.accumulate);
  if (!g.guard) return std::nullopt;
  const std::vector<Loop> loops = loops_of(t);
  const std::vector<Scalar> loads = expr::loads_of(g.body);
  for (Scalar load : loads) {
    const te::Tensor x = tensor_of(p, load);
    std::vector<bool> guarded;
    if (!x || !vanishes_with(g.body, load) || !guards_exactly(ctx, g.guard, load, x->shape, guarded)) continue;
    // The others are then read at every tap.
    if (!std::all_of(loads.begin(), loads.end(), [&](Scalar l) { return l == load || exists_without(p, g.guard, l); }))
      continue;
    const auto border = bordered_copy(load, x->shape, guarded, loops);
    if (!border) return std::nullopt;
    Padded out;
    Scalar zero = expr::make_const(ctx, x->dtype, 0);
    out.padded = p.te.map(x->name + "_padded", border->shape, [&](const te::Index& i) {
      const te::Index at = border->source(i);
      const Scalar inside = border->exists(x->shape, at);
      return inside ? expr::make_select(inside, (*x)(at), zero) : (*x)(at);
    });
    std::vector<Dim> at = load->index;
    for (size_t a = 0; a < at.size(); ++a) at[a] = at[a] - border->low[a];
    Scalar moved = expr::make_load(ctx, out.padded->id, load->dtype, at);
    out.body = expr::substitute(g.body, {}, [&](Scalar l) { return l == load ? moved : l; });
    return out;
  }
  return std::nullopt;
}

}  // namespace pliant::lower
