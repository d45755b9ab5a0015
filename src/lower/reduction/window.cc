// A tile of `rows` by `wide` outputs keeps its sums in registers. Where the windows of a whole tile lie inside the input,
// which one comparison for each bound decides, its terms are added without guards; at the border every tap is guarded.
#include "lower/reduction/window.h"

#include <algorithm>

#include "loop/walk.h"
#include "lower/reduction/clip.h"
#include "lower/reduction/long_sum.h"
#include "lower/rewrites/padding.h"

namespace pliant::lower {

namespace {

constexpr int64_t kRows = 4, kVectors = 2, kFewVectorsOfOneRow = 4;
// An innermost reduction loop of at most this many iterations is unrolled, so that rows share loads; where columns share
// them too, the loops around it as well, up to this many taps.
constexpr int64_t kUnrolledTaps = 8, kSlidingTaps = 12;
// Rows of a larger window are unrolled so many taps at a time: an input row is loaded once for the output rows that it is
// in.
constexpr int64_t kSharedTaps = 21;

struct Tile {
  const WindowNest& w;
  Scalar body;                  // without the guard
  std::vector<Scalar> uniform;  // guard terms that do not vary along the columns
  Scalar varying;               // the others, null when there are none
};

// Whether every term of `terms` holds for all taps and all `rows` rows from `row` on; null when that cannot be written down.
Scalar interior_condition(const Tile& t, const std::vector<Scalar>& terms, Dim row, int64_t rows) {
  expr::Context& ctx = t.w.ctx;
  std::vector<Loop> taps = t.w.reduce;
  Dim r = ctx.index_symbol("r", ctx.constant(rows));
  taps.push_back({*r.as_symbol(), ctx.constant(rows)});
  Scalar all;
  for (Scalar term : terms) {
    auto slack = slack_of(term);
    if (!slack) return {};
    if (t.w.row) slack = expr::substitute(*slack, {{t.w.row->var, row + r}});
    auto bounds = window_of(ctx, *slack, taps);
    if (!bounds) return {};
    Scalar holds = expr::less_equal(ctx.constant(0), bounds->lowest);
    all = all ? expr::logical_and(all, holds) : holds;
  }
  return all;
}

// Few taps are unrolled together where no bound is asked.
bool is_small_window(const WindowNest& w) {
  int64_t taps = 1;
  for (const Loop& l : w.reduce) {
    if (!l.extent.is_const() || l.extent.const_value() > kSlidingTaps) return false;
    taps *= l.extent.const_value();
  }
  return taps <= kSlidingTaps;
}

// A loop of known extent with `part` iterations at a time unrolled.
loop::StmtPtr in_unrolled_parts(expr::Context& ctx, const Loop& l, int64_t part, loop::StmtPtr body) {
  const int64_t whole = l.extent.const_value() / part, rest = l.extent.const_value() % part;
  auto unrolled = [&](Dim first, int64_t count) {
    const Dim k = ctx.index_symbol("k", ctx.constant(count));
    return loop::make_for(*k.as_symbol(), ctx.constant(count), loop::ForKind::Unroll,
                          loop::substitute(body, {{l.var, first + k}}));
  };
  const Dim o = ctx.index_symbol("o", ctx.constant(whole));
  std::vector<loop::StmtPtr> parts;
  if (whole > 0)
    parts.push_back(loop::make_for(*o.as_symbol(), ctx.constant(whole), loop::ForKind::Serial, unrolled(o * part, part)));
  if (rest > 0) parts.push_back(unrolled(ctx.constant(whole * part), rest));
  return loop::make_block(std::move(parts));
}

// `rows` by `wide` outputs from (row, column) on; valid: how many columns exist, null for all.
loop::StmtPtr make_tile(const Tile& t, Dim row, int64_t rows, Dim column, int64_t wide, Dim valid) {
  const WindowNest& w = t.w;
  expr::Context& ctx = w.ctx;
  loop::StoreKind kind = store_kind_of(w.sum.combiner);
  loop::Buffer acc = make_local(ctx, "acc", w.sum.accumulate, rows * wide);
  Scalar identity = identity_of(ctx, w.sum.combiner, w.sum.accumulate);
  const bool masked = valid && !w.reads_beyond;
  auto for_tile = [&](bool masked, const std::function<loop::StmtPtr(Dim, const expr::DimMap&, Dim)>& body) {
    Dim r = ctx.index_symbol("r", ctx.constant(rows)), l = ctx.index_symbol("l", ctx.constant(wide));
    expr::DimMap at{{w.col.var, column + l}};
    if (w.row) at[w.row->var] = row + r;
    loop::StmtPtr st = body(r * wide + l, at, l);
    if (masked) st = loop::make_if(expr::less(l, valid), st);
    loop::StmtPtr lanes = loop::make_for(*l.as_symbol(), ctx.constant(wide), loop::ForKind::Vector, st);
    return std::pair{lanes, *r.as_symbol()};
  };
  auto over_rows = [&](std::pair<loop::StmtPtr, expr::SymbolId> lanes, Scalar guard) {
    loop::StmtPtr st = lanes.first;
    if (guard) {
      expr::DimMap at;
      if (w.row) at[w.row->var] = row + ctx.symbol_dim(lanes.second);
      st = loop::make_if(expr::substitute(guard, at), st);
    }
    return loop::make_for(lanes.second, ctx.constant(rows), loop::ForKind::Unroll, st);
  };
  loop::StmtPtr init = over_rows(
      for_tile(masked, [&](Dim i, const expr::DimMap&, Dim) { return loop::make_store(acc.id, {i}, identity); }), {});
  std::vector<Dim> extents;
  for (const Loop& l : w.reduce) extents.push_back(l.extent);
  const LongSum long_sum(ctx, w.sum.combiner, acc, wide, extents);
  // Taps under `guard`, of which `clipped` leaves some.
  auto taps = [&](const LongSum& blocks, Scalar guard, const Clipped* clipped) {
    auto lanes = for_tile(masked, [&](Dim i, const expr::DimMap& at, Dim) {
      loop::StmtPtr st =
          loop::make_store(acc.id, {i}, expr::make_cast(w.sum.accumulate, expr::substitute(t.body, at)), kind);
      return t.varying ? loop::make_if(expr::substitute(t.varying, at), st) : st;
    });
    loop::StmtPtr st = over_rows(lanes, guard);
    int64_t unrolled = 1;
    for (size_t i = w.reduce.size(); i-- > 0;) {
      const Loop& l = w.reduce[i];
      auto serial = [&](const Loop& x, loop::StmtPtr body) { return blocks.at_level(i, x, std::move(body)); };
      if (clipped && clipped->clips[i]) {
        st = make_clipped(ctx, l, *clipped->clips[i], st, serial);
        unrolled = 0;
        continue;
      }
      const int64_t inner = unrolled;  // taps that are unrolled so far; 0: none of the loops further out is
      bool innermost = i + 1 == w.reduce.size(), unroll = l.extent.is_const() && unrolled > 0;
      if (unroll) unrolled *= l.extent.const_value();
      unroll = unroll && (innermost ? unrolled <= kUnrolledTaps : !guard && w.slides && unrolled <= kSlidingTaps);
      if (unroll) {
        st = loop::make_for(l.var, l.extent, loop::ForKind::Unroll, st);
        continue;
      }
      const bool in_parts = !innermost && inner > 0 && !guard && w.slides && rows > 1 && !blocks.is_long();
      st = in_parts && l.extent.is_const() && 2 * inner <= kSharedTaps ? in_unrolled_parts(ctx, l, kSharedTaps / inner, st)
                                                                       : serial(l, st);
      unrolled = 0;
    }
    return st;
  };
  auto all_taps = [&](const LongSum& blocks) {
    if (t.uniform.empty()) return taps(blocks, {}, nullptr);
    const Clipped clipped = clip_loops(ctx, w.reduce, t.uniform, w.row ? std::optional<SymbolId>(w.row->var) : std::nullopt);
    loop::StmtPtr sum = taps(blocks, conjunction_of(clipped.rest), &clipped);
    Scalar inside = clipped.rest.empty() ? Scalar() : interior_condition(t, clipped.rest, row, rows);
    if (inside) sum = loop::make_if(inside, taps(blocks, {}, &clipped), sum);
    const bool is_cut = clipped.rest.size() < t.uniform.size();
    if (w.slides && is_cut && is_small_window(w)) {
      inside = interior_condition(t, t.uniform, row, rows);
      if (inside) sum = loop::make_if(inside, taps(blocks, {}, nullptr), sum);
    }
    return sum;
  };
  loop::StmtPtr sum = long_sum.versions(all_taps);
  loop::StmtPtr store =
      over_rows(for_tile(bool(valid), [&](Dim i, const expr::DimMap& at,
                                          Dim) { return w.store(at, expr::make_load(ctx, acc.id, w.sum.accumulate, {i})); }),
                {});
  return loop::make_alloc(acc, loop::make_block({init, sum, store}));
}

// Columns of one row block: whole blocks of some vectors, then of one, then a masked one.
loop::StmtPtr make_columns(const Tile& t, Dim row, int64_t rows, Dim first, Dim count) {
  expr::Context& ctx = t.w.ctx;
  std::vector<loop::StmtPtr> parts;
  const int64_t lanes = t.w.lanes;
  std::vector<int64_t> widths{lanes * (t.w.row ? kVectors : t.w.vectors)};
  if (widths[0] > lanes * kFewVectorsOfOneRow) widths.push_back(lanes * kFewVectorsOfOneRow);
  if (widths.back() > lanes) widths.push_back(lanes);
  const auto most = const_upper(ctx, count);
  Dim at = first, rest = count;
  for (const int64_t width : widths) {
    if (width > lanes && most && *most < width) continue;
    const Dim number = floordiv(rest, width), i = ctx.index_symbol("v", number);
    if (!number.is_const(0))
      parts.push_back(loop::make_for(*i.as_symbol(), number, loop::ForKind::Serial,
                                     make_tile(t, row, rows, at + i * width, width, Dim())));
    at = at + number * width;
    rest = mod(rest, width);
  }
  if (rest.is_const(0)) return loop::make_block(std::move(parts));
  loop::StmtPtr last = make_tile(t, row, rows, at, lanes, rest);
  Dim none;
  if (t.w.may_repeat && !(most && *most < lanes))  // the last whole vector instead of a part of one
    last = loop::make_if(expr::less_equal(ctx.constant(lanes), count),
                         make_tile(t, row, rows, first + count - lanes, lanes, none), last);
  parts.push_back(loop::make_if(expr::less(ctx.constant(0), rest), last));
  return loop::make_block(std::move(parts));
}

}  // namespace

loop::StmtPtr make_window(const WindowNest& w) {
  expr::Context& ctx = w.ctx;
  Guarded g = split_guard(ctx, w.body, w.sum.combiner, w.sum.accumulate);
  Tile t{w, g.body, {}, {}};
  if (g.guard)
    for (Scalar term : conjuncts_of(g.guard)) {
      if (expr::uses_symbol(term, w.col.var))
        t.varying = t.varying ? expr::logical_and(t.varying, term) : term;
      else
        t.uniform.push_back(term);
    }
  if (!w.row) return make_columns(t, ctx.constant(0), 1, w.col.first, w.col.count);
  Dim row_count = w.row->count;
  std::vector<loop::StmtPtr> parts;
  Dim whole = floordiv(row_count, kRows), rest = mod(row_count, kRows);
  auto rows = [&](Dim from, Dim number, int64_t height) {
    if (number.is_const(0)) return;
    Dim i = ctx.index_symbol("rb", number);
    parts.push_back(loop::make_for(*i.as_symbol(), number, loop::ForKind::Serial,
                                   make_columns(t, from + i * height, height, w.col.first, w.col.count)));
  };
  rows(w.row->first, whole, kRows);
  rows(w.row->first + whole * kRows, rest, 1);
  return loop::make_block(std::move(parts));
}

}  // namespace pliant::lower
