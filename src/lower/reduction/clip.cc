#include "lower/reduction/clip.h"

#include <algorithm>

#include "loop/walk.h"
#include "lower/rewrites/padding.h"

namespace pliant::lower {

std::optional<Dim> as_dim(Scalar s) {
  if (s->kind == expr::ScalarKind::Index) return s->index[0];
  if (s->kind == expr::ScalarKind::Const && s->dtype == DType::I64) return s->ctx->constant(static_cast<int64_t>(s->bits));
  return std::nullopt;
}

std::optional<Dim> slack_of(Scalar term) {
  if (term->kind != expr::ScalarKind::Binary) return std::nullopt;
  const bool strict = term->binary() == expr::BinaryOp::Lt;
  if (!strict && term->binary() != expr::BinaryOp::Le) return std::nullopt;
  if (term->args[0]->dtype != DType::I64) return std::nullopt;
  auto side = [](Scalar s) -> std::optional<Dim> {
    if (const auto d = as_dim(s)) return d;
    return s->kind == expr::ScalarKind::Const ? std::nullopt : std::optional<Dim>(expr::value(s));
  };
  auto a = side(term->args[0]), b = side(term->args[1]);
  if (!a || !b) return std::nullopt;
  return strict ? *b - *a - 1 : *b - *a;
}

Scalar conjunction_of(const std::vector<Scalar>& terms) {
  Scalar all;
  for (Scalar t : terms) all = all ? expr::logical_and(all, t) : t;
  return all;
}

namespace {

// The loop that a term bounds alone, and how much one step along it adds to the slack.
struct Bound {
  size_t loop;
  Dim slack;
  int64_t step;
};
std::optional<Bound> bound_of(const std::vector<Loop>& loops, Scalar term) {
  const auto slack = slack_of(term);
  if (!slack) return std::nullopt;
  std::optional<size_t> only;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!expr::uses_symbol(term, loops[i].var)) continue;
    if (only) return std::nullopt;
    only = i;
  }
  const auto c = only ? expr::coefficient_of(*slack, loops[*only].var) : std::nullopt;
  if (!c || !c->is_const()) return std::nullopt;
  return Bound{*only, *slack, c->const_value()};
}

// A name for a value that is computed once.
Dim bound_symbol(expr::Context& ctx, const char* name, Dim extent) {
  expr::SymbolInfo info;
  info.name = name;
  if (extent.is_const()) info.hi = std::max<int64_t>(0, extent.const_value());
  return ctx.symbol(std::move(info));
}

}  // namespace

Clipped clip_loops(expr::Context& ctx, const std::vector<Loop>& loops, const std::vector<Scalar>& terms,
                   std::optional<SymbolId> apart) {
  Clipped out{std::vector<std::optional<Clip>>(loops.size()), {}};
  for (Scalar term : terms) {
    const bool stays = apart && expr::uses_symbol(term, *apart);
    const auto bound = stays ? std::nullopt : bound_of(loops, term);
    if (!bound) {
      out.rest.push_back(term);
      continue;
    }
    const Loop& l = loops[bound->loop];
    const Dim at_zero = expr::substitute(bound->slack, {{l.var, ctx.constant(0)}});
    std::optional<Clip>& clip = out.clips[bound->loop];
    if (!clip) clip = Clip{ctx.constant(0), l.extent};
    if (bound->step > 0) {
      clip->first = max(clip->first, ceildiv(-at_zero, bound->step));
    } else {
      clip->end = min(clip->end, floordiv(at_zero, -bound->step) + 1);
      // Of any value that data may have: the distance from a first one, which is not negative, fits 64 bits.
      if (!expr::loads_of(expr::make_index(at_zero)).empty()) clip->end = max(clip->end, ctx.constant(0));
    }
  }
  return out;
}

loop::StmtPtr make_clipped(expr::Context& ctx, const Loop& l, const Clip& clip, loop::StmtPtr body,
                           const std::function<loop::StmtPtr(const Loop&, loop::StmtPtr)>& make_loop) {
  const Dim first = bound_symbol(ctx, "first", l.extent);
  Dim i = ctx.index_symbol("k", clip.end - first);
  body = make_loop({*i.as_symbol(), clip.end - first}, loop::substitute(body, {{l.var, first + i}}));
  return loop::make_let(*first.as_symbol(), clip.first, body);
}

std::optional<ClippedReduction> clip_reduction(expr::Context& ctx, te::Combiner combiner, DType accumulate, Scalar body,
                                               const std::vector<Loop>& loops) {
  const Guarded g = split_guard(ctx, body, combiner, accumulate);
  if (!g.guard) return std::nullopt;
  const Clipped clipped = clip_loops(ctx, loops, conjuncts_of(g.guard));
  if (std::none_of(clipped.clips.begin(), clipped.clips.end(), [](const auto& c) { return c.has_value(); }))
    return std::nullopt;
  ClippedReduction out{loops, g.body, {}};
  if (Scalar rest = conjunction_of(clipped.rest))
    out.body = expr::make_select(rest, g.body, identity_of(ctx, combiner, g.body->dtype));
  std::vector<std::pair<SymbolId, Dim>> values;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!clipped.clips[i]) continue;
    const Dim first = bound_symbol(ctx, "first", loops[i].extent), count = bound_symbol(ctx, "count", loops[i].extent);
    values.emplace_back(*first.as_symbol(), clipped.clips[i]->first);
    values.emplace_back(*count.as_symbol(), max(ctx.constant(0), clipped.clips[i]->end - first));
    const Dim k = ctx.index_symbol("k", count);
    out.loops[i] = {*k.as_symbol(), count};
    out.body = expr::substitute(out.body, {{loops[i].var, first + k}});
  }
  out.bind = [values](loop::StmtPtr st) {
    for (size_t i = values.size(); i-- > 0;) st = loop::make_let(values[i].first, values[i].second, st);
    return st;
  };
  return out;
}

bool has_ragged_ranges(expr::Context& ctx, te::Combiner combiner, DType accumulate, Scalar body,
                       const std::vector<Loop>& loops, SymbolId column) {
  const Guarded g = split_guard(ctx, body, combiner, accumulate);
  if (!g.guard) return false;
  const std::vector<Scalar> terms = conjuncts_of(g.guard);
  return std::any_of(terms.begin(), terms.end(), [&](Scalar term) {
    const auto bound = bound_of(loops, term);
    return bound && !stride_in(ctx, bound->slack, column);
  });
}

}  // namespace pliant::lower
