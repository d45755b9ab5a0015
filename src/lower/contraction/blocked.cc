// A task has some rows and columns. It goes through the reduction in steps that are short enough for what they read of the
// matrix to stay in the L1 cache and its pages in the table of the processor; the sums of the steps are added in
// memory. The rows' factors of a step are copied, since rows of a matrix whose size is a power of two push each other out of
// the cache.
#include "lower/contraction/blocked.h"

#include <algorithm>

#include "lower/contraction/skinny_gemm.h"
#include "lower/reduction/long_sum.h"
#include "lower/version.h"

namespace pliant::lower {

namespace {

constexpr int64_t kStep = 128;     // of the reduction
constexpr int64_t kColumns = 256;  // of a task
constexpr int64_t kRows = 128;     // of a task, at most
constexpr int64_t kCarried = 64;   // steps whose sums are added before they are carried

struct Blocked {
  const Problem& p;
  const te::TensorDef& sum;
  const std::vector<te::Tensor>& outputs;
  Factors f;
  expr::Context& ctx = p.ctx;
  DType type = sum.accumulate;
  int64_t lanes = 0, wide = 0, high = 0, low = 1;    // a tile: columns, rows, those that one has at least
  loop::BufferId factors = 0, panels = 0, sums = 0;  // [row][kStep], [kColumns / wide][kStep][wide], [row][kColumns]
  Dim row{}, rows{}, column{}, columns{};            // of the task
};

Scalar with_type(const Blocked& b, Scalar s, const expr::DimMap& at) {
  return expr::make_cast(b.type, expr::substitute(s, at));
}

loop::StmtPtr copy_factors(const Blocked& b, Dim k, Dim depth) {
  expr::Context& ctx = b.ctx;
  Dim r = ctx.index_symbol("r", b.rows);
  loop::StmtPtr row = make_vector_loop(ctx, depth, b.lanes, [&](Dim i) {
    Scalar value = with_type(b, b.f.a, {{b.f.row.var, b.row + r}, {b.f.reduce[0].var, k + i}});
    return loop::make_store(b.factors, {r * kStep + i}, value);
  });
  return loop::make_for(*r.as_symbol(), b.rows, loop::ForKind::Serial, row);
}

// Whole rows of the matrix, as far as the task's columns go; columns that do not exist are zeros.
loop::StmtPtr copy_matrix(const Blocked& b, Dim k, Dim depth) {
  expr::Context& ctx = b.ctx;
  Dim i = ctx.index_symbol("k", depth);
  auto tile = [&](Dim panel, Dim valid) {
    Dim j = ctx.index_symbol("j", ctx.constant(b.wide));
    Scalar value = with_type(b, b.f.b, {{b.f.col.var, b.column + panel * b.wide + j}, {b.f.reduce[0].var, k + i}});
    const std::vector<Dim> at{(panel * kStep + i) * b.wide + j};
    loop::StmtPtr s = loop::make_store(b.panels, at, value);
    if (valid) s = loop::make_if(expr::less(j, valid), s, loop::make_store(b.panels, at, expr::make_const(ctx, b.type, 0)));
    return loop::make_for(*j.as_symbol(), ctx.constant(b.wide), loop::ForKind::Vector, s);
  };
  Dim whole = floordiv(b.columns, b.wide), rest = mod(b.columns, b.wide), v = ctx.index_symbol("v", whole);
  std::vector<loop::StmtPtr> seq;
  if (!whole.is_const(0)) seq.push_back(loop::make_for(*v.as_symbol(), whole, loop::ForKind::Serial, tile(v, {})));
  if (!rest.is_const(0)) seq.push_back(loop::make_if(expr::less(ctx.constant(0), rest), tile(whole, rest)));
  return loop::make_for(*i.as_symbol(), depth, loop::ForKind::Serial, loop::make_block(std::move(seq)));
}

// Adds the products of a step to the sums of `height` rows from `first` on by the first `wide` columns of a panel.
loop::StmtPtr make_tile(const Blocked& b, int64_t height, int64_t wide, Dim first, Dim panel, Dim k, Dim depth) {
  expr::Context& ctx = b.ctx;
  loop::Buffer acc = make_local(ctx, "acc", b.type, height * wide);
  using Element = std::function<loop::StmtPtr(std::vector<Dim> in_acc, Dim r, Dim j)>;
  auto for_tile = [&](const Element& element) {
    Dim r = ctx.index_symbol("r", ctx.constant(height)), j = ctx.index_symbol("j", ctx.constant(wide));
    loop::StmtPtr s =
        loop::make_for(*j.as_symbol(), ctx.constant(wide), loop::ForKind::Vector, element({r * wide + j}, r, j));
    return loop::make_for(*r.as_symbol(), ctx.constant(height), loop::ForKind::Unroll, s);
  };
  auto in_sums = [&](Dim r, Dim j) { return std::vector<Dim>{(first + r) * kColumns + panel * b.wide + j}; };
  auto load = [&](loop::BufferId from, std::vector<Dim> index) {
    return expr::make_load(ctx, from, b.type, std::move(index));
  };
  loop::StmtPtr zero = for_tile([&](std::vector<Dim> in_acc, Dim, Dim) {
    return loop::make_store(acc.id, std::move(in_acc), expr::make_const(ctx, b.type, 0));
  });
  Dim i = ctx.index_symbol("k", depth);
  loop::StmtPtr add = for_tile([&](std::vector<Dim> in_acc, Dim r, Dim j) {
    Scalar y = load(b.panels, {(panel * kStep + i) * b.wide + j});
    return loop::make_store(acc.id, std::move(in_acc), load(b.factors, {(first + r) * kStep + i}) * y, loop::StoreKind::Add);
  });
  add = loop::make_for(*i.as_symbol(), depth, loop::ForKind::Serial, add);
  loop::StmtPtr add_earlier = for_tile([&](std::vector<Dim> in_acc, Dim r, Dim j) {
    return loop::make_store(acc.id, std::move(in_acc), load(b.sums, in_sums(r, j)), loop::StoreKind::Add);
  });
  loop::StmtPtr keep = for_tile([&](std::vector<Dim> in_acc, Dim r, Dim j) {
    return loop::make_store(b.sums, in_sums(r, j), load(acc.id, std::move(in_acc)));
  });
  add_earlier = loop::make_if(expr::less(ctx.constant(0), k), add_earlier);
  return loop::make_alloc(acc, loop::make_block({zero, add, add_earlier, keep}));
}

// The results of all sums: once, not in the tiles of each height, whose code would be a multiple.
loop::StmtPtr make_results(const Blocked& b) {
  expr::Context& ctx = b.ctx;
  Dim r = ctx.index_symbol("r", b.rows);
  loop::StmtPtr row = make_vector_loop(ctx, b.columns, b.wide, [&](Dim j) {
    return store_results(b.sum, b.outputs, b.f, b.row + r, b.column + j,
                         expr::make_load(ctx, b.sums, b.type, {r * kColumns + j}));
  });
  return loop::make_for(*r.as_symbol(), b.rows, loop::ForKind::Serial, row);
}

// One of the tiles of `lo` to `hi` rows.
loop::StmtPtr choose_height(const Dim& height, int64_t lo, int64_t hi, const std::function<loop::StmtPtr(int64_t)>& tile) {
  if (lo == hi) return tile(lo);
  int64_t mid = (lo + hi) / 2;
  expr::Context& ctx = *height->ctx;
  return loop::make_if(expr::less_equal(height, ctx.constant(mid)), choose_height(height, lo, mid, tile),
                       choose_height(height, mid + 1, hi, tile));
}

// Tiles of nearly equal heights up to `most` over rows from `first` on; there are as many that none is lower than `least`.
loop::StmtPtr make_rows(expr::Context& ctx, int64_t least, int64_t most, Dim first, Dim count,
                        const std::function<loop::StmtPtr(int64_t, Dim)>& tile) {
  if (count.is_const()) {
    int64_t n = count.const_value(), tiles = (n + most - 1) / most;
    if (n == 0) return loop::make_block({});
    int64_t base = n / tiles, rest = n % tiles;
    std::vector<loop::StmtPtr> parts;
    auto run = [&](int64_t number, int64_t height, Dim from) {
      if (number == 0) return;
      Dim i = ctx.index_symbol("mt", ctx.constant(number));
      parts.push_back(
          loop::make_for(*i.as_symbol(), ctx.constant(number), loop::ForKind::Serial, tile(height, from + i * height)));
    };
    run(rest, base + 1, first);
    run(tiles - rest, base, first + rest * (base + 1));
    return loop::make_block(std::move(parts));
  }
  Dim tiles = ceildiv(count, most), i = ctx.index_symbol("mt", tiles);
  Dim divisor = max(ctx.constant(1), tiles), base = floordiv(count, divisor), rest = mod(count, divisor);
  Dim start = first + i * base + min(i, rest);
  Dim height = base + min(ctx.constant(1), max(ctx.constant(0), rest - i));
  int64_t highest = most;
  if (auto upper = const_upper(ctx, count)) highest = std::max<int64_t>(1, std::min(highest, *upper));
  return loop::make_for(*i.as_symbol(), tiles, loop::ForKind::Serial,
                        choose_height(height, std::min(least, highest), highest, [&](int64_t h) { return tile(h, start); }));
}

loop::StmtPtr make_step(const Blocked& b, Dim k, Dim depth) {
  expr::Context& ctx = b.ctx;
  auto tiles = [&](int64_t wide, Dim panel) {
    return make_rows(ctx, b.low, b.high, ctx.constant(0), b.rows,
                     [&](int64_t height, Dim first) { return make_tile(b, height, wide, first, panel, k, depth); });
  };
  // A last panel of one vector at most has tiles of its own; of a larger one also the columns that do not exist are
  // computed.
  const bool narrow = b.wide > b.lanes;
  Dim panels = narrow ? floordiv(b.columns + (b.wide - b.lanes - 1), b.wide) : ceildiv(b.columns, b.wide);
  Dim v = ctx.index_symbol("v", panels), rest = b.columns - panels * b.wide;
  std::vector<loop::StmtPtr> seq{copy_factors(b, k, depth), copy_matrix(b, k, depth)};
  if (!panels.is_const(0)) seq.push_back(loop::make_for(*v.as_symbol(), panels, loop::ForKind::Serial, tiles(b.wide, v)));
  if (narrow && !rest.is_const(0)) seq.push_back(loop::make_if(expr::less(ctx.constant(0), rest), tiles(b.lanes, panels)));
  return loop::make_block(std::move(seq));
}

loop::Buffer make_scratch(expr::Context& ctx, const std::string& name, DType t, int64_t elements) {
  loop::Buffer b = make_local(ctx, name, t, elements);
  b.scope = loop::Scope::Scratch;
  return b;
}

}  // namespace

bool can_block(expr::Context& ctx, const Factors& f) { return is_matrix(ctx, f) && runs_of(ctx, f) == Runs::AlongColumns; }

Result<LoweredKernel> lower_blocked(const Problem& p, const StageList& list, const te::TensorDef& sum,
                                    const std::vector<te::Tensor>& outputs, const Factors& factors, Dim least_rows,
                                    const Temporaries& temporaries) {
  expr::Context& ctx = p.ctx;
  Blocked b{p, sum, outputs, factors};
  b.lanes = p.target.vector_bytes / byte_size(sum.accumulate);
  b.wide = b.lanes * p.target.tile_vectors;
  b.high = p.target.tile_rows;
  // More rows than one tile has are parted into tiles of half its height at least; so are those of several tasks.
  b.low = std::max<int64_t>(1, std::min(ctx.range(least_rows).lo, b.high / 2));
  KernelBuilder builder(ctx, p.name, p.loc);
  Signature signature(p, list, builder, temporaries);
  add_params(signature, b.f, outputs);
  loop::Buffer step = make_scratch(ctx, "factors", b.type, kRows * kStep);
  loop::Buffer sums = make_scratch(ctx, "sums", b.type, kRows * kColumns);
  loop::Buffer panels = make_scratch(ctx, "panels", b.type, kColumns * kStep);
  b.factors = step.id;
  b.panels = panels.id;
  b.sums = sums.id;

  const Dim zero = ctx.constant(0), one = ctx.constant(1), depth = b.f.reduce[0].extent;
  const Dim row_blocks = ceildiv(b.f.row.extent, kRows), column_blocks = ceildiv(b.f.col.extent, kColumns);
  const Dim mb = ctx.index_symbol("mb", row_blocks), nb = ctx.index_symbol("nb", column_blocks);
  std::vector<Loop> parallel = b.f.outer;
  parallel.push_back({*nb.as_symbol(), column_blocks});
  parallel.push_back({*mb.as_symbol(), row_blocks});
  // Blocks of nearly equal numbers of rows.
  const Dim base = floordiv(b.f.row.extent, max(one, row_blocks)), more = mod(b.f.row.extent, max(one, row_blocks));
  b.row = mb * base + min(mb, more);
  b.rows = base + min(one, max(zero, more - mb));
  b.column = nb * kColumns;
  b.columns = min(ctx.constant(kColumns), b.f.col.extent - b.column);
  // No terms are one step, which stores zeros.
  const Dim steps = max(one, ceildiv(depth, kStep)), i = ctx.index_symbol("kb", steps);
  loop::Buffer totals = make_scratch(ctx, "totals", DType::F64, kRows * kColumns);
  totals.shape[0] = totals.shape[0] * min(one, floordiv(steps - 1, kCarried));
  const LongSum long_sum(ctx, MemorySums{b.sums, totals.id, b.type, b.rows, kColumns, b.columns}, b.lanes, {steps},
                         kCarried);
  loop::StmtPtr body = make_step(b, i * kStep, min(ctx.constant(kStep), depth - i * kStep));
  // Sums of the last step are not carried.
  if (long_sum.is_long()) body = loop::make_block({loop::make_if(expr::less_equal(steps, i + 1), long_sum.finish()), body});
  body = loop::make_block({long_sum.begin(), long_sum.at_level(0, {*i.as_symbol(), steps}, body), make_results(b)});
  if (!totals.shape[0].is_const(0)) body = loop::make_alloc(std::move(totals), body);
  body = loop::make_alloc(std::move(step), loop::make_alloc(std::move(panels), loop::make_alloc(std::move(sums), body)));
  LoweredKernel k = built_by("blocked");
  k.tasks = product_of(ctx, parallel);
  k.work = product_of(ctx, b.f.outer) * b.f.row.extent * b.f.col.extent * max(one, depth);
  k.function = builder.finish(wrap_loops(parallel, loop::ForKind::Parallel, body));
  k.args = signature.take_args();
  restrict_to(ctx, k, {{least_rows, b.f.row.extent}});
  return k;
}

}  // namespace pliant::lower
