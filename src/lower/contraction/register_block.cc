#include "lower/contraction/register_block.h"

#include <algorithm>

#include "lower/stage_kernels.h"

namespace pliant::lower {

namespace {

// `count` elements in whole vectors of at most `lanes`: body(i) for each element i.
loop::StmtPtr for_vectors(expr::Context& ctx, int64_t count, int64_t lanes, const std::function<loop::StmtPtr(Dim)>& body) {
  const int64_t width = std::min(lanes, count & -count);
  Dim v = ctx.index_symbol("v", ctx.constant(count / width)), l = ctx.index_symbol("l", ctx.constant(width));
  loop::StmtPtr lane = loop::make_for(*l.as_symbol(), ctx.constant(width), loop::ForKind::Vector, body(v * width + l));
  return loop::make_for(*v.as_symbol(), ctx.constant(count / width), loop::ForKind::Unroll, lane);
}

}  // namespace

loop::StmtPtr make_transposed(expr::Context& ctx, DType t, int64_t n, const BlockFill& fill, const BlockFill& use) {
  std::vector<loop::Buffer> stages{make_local(ctx, "block", t, n * n)};
  std::vector<loop::StmtPtr> seq{fill(stages[0].id)};
  // Each stage exchanges one bit of the row's number with that of the column's.
  for (int64_t bit = n / 2; bit >= 1; bit /= 2) {
    loop::Buffer from = stages.back(), to = make_local(ctx, "block", t, n * n);
    Dim r = ctx.index_symbol("r", ctx.constant(n)), c = ctx.index_symbol("c", ctx.constant(n));
    Dim row_bit = mod(floordiv(r, bit), 2), column_bit = mod(floordiv(c, bit), 2);
    Dim row = r + (column_bit - row_bit) * bit, column = c + (row_bit - column_bit) * bit;
    loop::StmtPtr move = loop::make_store(to.id, {r * n + c}, expr::make_load(ctx, from.id, t, {row * n + column}));
    loop::StmtPtr lanes = loop::make_for(*c.as_symbol(), ctx.constant(n), loop::ForKind::Vector, move);
    seq.push_back(loop::make_for(*r.as_symbol(), ctx.constant(n), loop::ForKind::Unroll, lanes));
    stages.push_back(std::move(to));
  }
  seq.push_back(use(stages.back().id));
  loop::StmtPtr all = loop::make_block(std::move(seq));
  for (size_t i = stages.size(); i-- > 0;) all = loop::make_alloc(stages[i], all);
  return all;
}

loop::StmtPtr make_folded(expr::Context& ctx, DType t, loop::BufferId parts, int64_t sums, int64_t partials, int64_t lanes,
                          const BlockFill& use) {
  std::vector<loop::Buffer> stages;
  std::vector<loop::StmtPtr> seq;
  loop::BufferId from = parts;
  for (int64_t half = partials / 2; half >= 1; half /= 2) {
    loop::Buffer to = make_local(ctx, "fold", t, sums * half);
    seq.push_back(for_vectors(ctx, sums * half, lanes, [&](Dim i) {
      Dim low = i + floordiv(i, half) * half;
      Scalar x = expr::make_load(ctx, from, t, {low}), y = expr::make_load(ctx, from, t, {low + half});
      return loop::make_store(to.id, {i}, x + y);
    }));
    from = to.id;
    stages.push_back(std::move(to));
  }
  seq.push_back(use(from));
  loop::StmtPtr all = loop::make_block(std::move(seq));
  for (size_t i = stages.size(); i-- > 0;) all = loop::make_alloc(stages[i], all);
  return all;
}

}  // namespace pliant::lower
