#include "lower/contraction/tile.h"

#include <algorithm>

#include "loop/walk.h"
#include "lower/contraction/register_block.h"
#include "lower/contraction/skinny_gemm.h"
#include "lower/reduction/long_sum.h"
#include "lower/version.h"
#include "target/match.h"

namespace pliant::lower {

namespace {

constexpr int64_t kVectorsOfOneRow = 8;
// In multiply-adds. Up to so many in all are one task; of more a task has about so many: enough to be worth handing out, few
// enough that many threads get some each.
constexpr int64_t kWholeWork = 4 << 20, kTaskWork = 512 * 1024;
// Sums of up to so many products are left in one piece: no other library divides them, and each block costs the copying of
// all accumulators.
constexpr int64_t kWholeProduct = 4096;
// A column of b that is read from memory costs what this many rows cost.
constexpr int64_t kRowsOfOneRead = 16;

struct Tiler {
  const Problem& p;
  const te::TensorDef& sum;
  const std::vector<te::Tensor>& outputs;
  Factors f;
  Operand operand;
  expr::Context& ctx = p.ctx;
  int64_t lanes = 0, mr = 0, nr = 0;
  Dim panels{}, panel{};                  // count, and the variable that runs over it
  std::optional<loop::Buffer> scratch{};  // Operand::Panel
  Scalar panel_source{};                  // what the scratch panel is filled from, flat
  bool transposes = false;                // which runs along the reduction
  std::vector<Loop> source_loops{};
};

// One operand below its casts: what is stored, and how the stored value becomes the factor.
Scalar below_casts(Scalar s) {
  while (s->kind == expr::ScalarKind::Cast &&
         (s->args[0]->kind == expr::ScalarKind::Load || s->args[0]->kind == expr::ScalarKind::Cast))
    s = s->args[0];
  return s;
}
Scalar with_casts(Scalar original, Scalar stored) {
  if (original->kind != expr::ScalarKind::Cast ||
      !(original->args[0]->kind == expr::ScalarKind::Load || original->args[0]->kind == expr::ScalarKind::Cast))
    return stored;
  return expr::make_cast(original->dtype, with_casts(original->args[0], stored));
}

Dim flat_index(expr::Context& ctx, const std::vector<Loop>& loops) {
  Dim at = ctx.constant(0);
  for (const Loop& l : loops) at = at * l.extent + ctx.symbol_dim(l.var);
  return at;
}

// Replaces b by a load of its panel layout: `column` of panel `t.panel`.
Scalar panel_load(Tiler& t, expr::TensorId id, Dim base, Scalar original, Scalar stored, Dim column) {
  Dim k = flat_index(t.ctx, t.f.reduce);
  return with_casts(original, expr::make_load(t.ctx, id, stored->dtype, {base + k * t.nr + column}));
}

Status prepare_operand(Tiler& t, Signature& signature, Dim column) {
  expr::Context& ctx = t.ctx;
  Scalar original = t.f.b, stored = below_casts(original);
  Dim k_total = product_of(ctx, t.f.reduce);
  if (t.operand == Operand::Packed) {
    std::vector<Loop> used;
    for (const Loop& l : t.f.outer)
      if (expr::uses_symbol(original, l.var)) used.push_back(l);
    graph::ConstantPtr packed = TRY(pack_constant(t.p, stored, used, t.f.col, t.f.reduce, t.nr));
    expr::TensorId id = ctx.fresh_tensor();
    signature.add_constant(id, "packed", packed);
    Dim base = (flat_index(ctx, used) * t.panels + t.panel) * k_total * t.nr;
    t.f.b = panel_load(t, id, base, original, stored, column);
  } else if (t.operand == Operand::Panel) {
    loop::Buffer b;
    b.id = ctx.fresh_tensor();
    b.name = "panel";
    b.dtype = stored->dtype;
    // Blocks that reach beyond the reduction's end are written whole.
    b.shape = {(t.transposes ? k_total + (t.lanes - 1) : k_total) * t.nr};
    b.scope = loop::Scope::Scratch;
    t.panel_source = stored;
    t.source_loops = t.f.reduce;
    t.f.b = panel_load(t, b.id, ctx.constant(0), original, stored, column);
    t.scratch = std::move(b);
  } else {
    t.f.b = expr::substitute(original, {{t.f.col.var, t.panel * t.nr + column}});
  }
  Nest nest{t.f.reduce, {t.f.a, t.f.b}, {}};
  collapse(ctx, nest);
  t.f.reduce = nest.loops;
  t.f.a = nest.scalars[0];
  t.f.b = nest.scalars[1];
  return ok();
}

// Fills the scratch panel from columns that lie along the reduction, in square blocks that are transposed in registers.
// Columns beyond the last repeat it.
loop::StmtPtr fill_transposed(const Tiler& t) {
  expr::Context& ctx = t.ctx;
  const int64_t n = t.lanes;
  const Loop inner = t.source_loops.back();
  const std::vector<Loop> outer(t.source_loops.begin(), t.source_loops.end() - 1);
  const bool whole_panels = ctx.divisible(t.f.col.extent, t.nr);
  Dim outer_k = flat_index(ctx, outer) * inner.extent;
  // The block of reduction indices from `k` on; `valid`: how many exist, null for all.
  auto blocks = [&](Dim k, Dim valid) {
    std::vector<loop::StmtPtr> parts;
    for (int64_t first = 0; first < t.nr; first += n) {
      auto fill = [&](loop::BufferId block) {
        Dim c = ctx.index_symbol("c", ctx.constant(n)), l = ctx.index_symbol("l", ctx.constant(n));
        Dim column = t.panel * t.nr + first + c;
        if (!whole_panels) column = min(column, t.f.col.extent - 1);
        Scalar value = expr::substitute(t.panel_source, {{t.f.col.var, column}, {inner.var, k + l}});
        loop::StmtPtr s = loop::make_store(block, {c * n + l}, value);
        if (valid)
          s = loop::make_if(expr::less(l, valid), s,
                            loop::make_store(block, {c * n + l}, expr::make_const(ctx, value->dtype, 0)));
        s = loop::make_for(*l.as_symbol(), ctx.constant(n), loop::ForKind::Vector, s);
        return loop::make_for(*c.as_symbol(), ctx.constant(n), loop::ForKind::Unroll, s);
      };
      auto use = [&](loop::BufferId block) {
        Dim r = ctx.index_symbol("r", ctx.constant(n)), l = ctx.index_symbol("l", ctx.constant(n));
        Scalar value = expr::make_load(ctx, block, t.panel_source->dtype, {r * n + l});
        loop::StmtPtr s = loop::make_store(t.scratch->id, {(outer_k + k + r) * t.nr + first + l}, value);
        s = loop::make_for(*l.as_symbol(), ctx.constant(n), loop::ForKind::Vector, s);
        return loop::make_for(*r.as_symbol(), ctx.constant(n), loop::ForKind::Unroll, s);
      };
      parts.push_back(make_transposed(ctx, t.panel_source->dtype, n, fill, use));
    }
    return loop::make_block(std::move(parts));
  };
  Dim whole = floordiv(inner.extent, n), rest = mod(inner.extent, n), i = ctx.index_symbol("kb", whole);
  std::vector<loop::StmtPtr> seq;
  if (!whole.is_const(0)) seq.push_back(loop::make_for(*i.as_symbol(), whole, loop::ForKind::Serial, blocks(i * n, {})));
  if (!rest.is_const(0)) seq.push_back(loop::make_if(expr::less(ctx.constant(0), rest), blocks(whole * n, rest)));
  return wrap_loops(outer, loop::ForKind::Serial, loop::make_block(std::move(seq)));
}

// Fills the scratch panel: columns beyond the last hold zeros.
loop::StmtPtr fill_panel(const Tiler& t) {
  expr::Context& ctx = t.ctx;
  if (t.transposes) return fill_transposed(t);
  Dim j = ctx.index_symbol("j", ctx.constant(t.nr)), n = t.panel * t.nr + j;
  Scalar value = expr::substitute(t.panel_source, {{t.f.col.var, n}});
  Dim at = flat_index(ctx, t.source_loops) * t.nr + j;
  loop::StmtPtr copy = loop::make_store(t.scratch->id, {at}, value);
  if (!ctx.divisible(t.f.col.extent, t.nr))
    copy = loop::make_if(expr::less(n, t.f.col.extent), copy,
                         loop::make_store(t.scratch->id, {at}, expr::make_const(ctx, value->dtype, 0)));
  loop::StmtPtr lanes = loop::make_for(*j.as_symbol(), ctx.constant(t.nr), loop::ForKind::Vector, copy);
  return wrap_loops(t.source_loops, loop::ForKind::Serial, lanes);
}

Scalar step_of(const Tiler& t, Scalar a, Scalar b) {
  switch (t.f.step) {
    case Step::Dot2: return target::lane_term(*target::find_instruction("dot2"), a, b);
    case Step::Dot4: return target::lane_term(*target::find_instruction("dot4"), a, b);
    case Step::Product: break;
  }
  return expr::make_cast(t.sum.accumulate, a) * expr::make_cast(t.sum.accumulate, b);
}

// One tile of `height` rows starting at row `start`: sums in registers, then the epilogue. `column` is the variable that
// t.f.b uses for the column inside the panel; `masked`: the panel may reach beyond the last column.
loop::StmtPtr make_tile(const Tiler& t, int64_t height, Dim start, Dim column, bool mask_loads, bool mask_stores) {
  expr::Context& ctx = t.ctx;
  DType acc_type = t.sum.accumulate;
  loop::Buffer acc = make_local(ctx, "acc", acc_type, height * t.nr);
  Dim n = t.panel * t.nr;
  auto for_tile = [&](const std::function<loop::StmtPtr(Dim, Dim)>& body) {
    Dim r = ctx.index_symbol("r", ctx.constant(height)), j = ctx.index_symbol("j", ctx.constant(t.nr));
    loop::StmtPtr lanes = loop::make_for(*j.as_symbol(), ctx.constant(t.nr), loop::ForKind::Vector, body(r, j));
    return loop::make_for(*r.as_symbol(), ctx.constant(height), loop::ForKind::Unroll, lanes);
  };
  auto inside = [&](Dim j, loop::StmtPtr s) { return loop::make_if(expr::less(n + j, t.f.col.extent), std::move(s)); };
  loop::StmtPtr init =
      for_tile([&](Dim r, Dim j) { return loop::make_store(acc.id, {r * t.nr + j}, expr::make_const(ctx, acc_type, 0)); });
  loop::StmtPtr add = for_tile([&](Dim r, Dim j) {
    Scalar a = expr::substitute(t.f.a, {{t.f.row.var, start + r}});
    Scalar b = expr::substitute(t.f.b, {{*column.as_symbol(), j}});
    loop::StmtPtr s = loop::make_store(acc.id, {r * t.nr + j}, step_of(t, a, b), loop::StoreKind::Add);
    return mask_loads ? inside(j, s) : s;
  });
  loop::StmtPtr store = for_tile([&](Dim r, Dim j) {
    Scalar total = expr::make_load(ctx, acc.id, acc_type, {r * t.nr + j});
    loop::StmtPtr s = store_results(t.sum, t.outputs, t.f, start + r, n + j, total);
    return mask_stores ? inside(j, s) : s;
  });
  std::vector<Dim> extents;
  for (const Loop& l : t.f.reduce) extents.push_back(l.extent);
  const auto most = const_upper(ctx, product_of(ctx, t.f.reduce));
  const LongSum sum(ctx, t.sum.combiner, acc, t.nr, extents, most && *most <= kWholeProduct ? *most : kProductBlock);
  return loop::make_alloc(acc, loop::make_block({init, sum.around(sum.loops(t.f.reduce, add)), store}));
}

int64_t row_bytes(const Tiler& t) {
  Dim k = product_of(t.ctx, t.f.reduce);
  int64_t elements = k.is_const() ? k.const_value() : 256;
  for (Scalar l : expr::loads_of(t.f.a)) {
    auto s = stride_in(t.ctx, l->index[0], t.f.row.var);
    if (s && s->is_const() && s->const_value() > 0) elements = std::min(elements, s->const_value());
  }
  return std::max<int64_t>(64, elements * 4);
}

struct Blocking {
  std::vector<Loop> parallel;       // outermost first
  Dim panel_first, panel_count;     // the panels of a task
  std::optional<Loop> height_loop;  // an outer loop that runs inside the panel loop, over `height_first` on
  Dim height_first;
  Dim row_first, row_count;
  SymbolId height_var = 0;
  std::vector<std::pair<SymbolId, Dim>> lets;  // of a task, outermost first
};

// `value`, computed once a task; at least `least`, and at most `most` where it has a bound.
Dim once(const Tiler& t, Blocking& b, const char* name, Dim value, int64_t least, std::optional<int64_t> most = {}) {
  if (value.is_const() || value.as_symbol()) return value;
  expr::SymbolInfo info;
  info.name = name;
  info.lo = least;
  if (most) info.hi = *most;
  Dim s = t.ctx.symbol(std::move(info));
  b.lets.emplace_back(*s.as_symbol(), value);
  return s;
}

// Operands b that are large leave the cache between two uses: their panels are the outer loop of the tasks.
bool has_large_b(const Tiler& t) {
  Dim k = product_of(t.ctx, t.f.reduce);
  return k.is_const() && t.f.col.extent.is_const() &&
         k.const_value() * t.f.col.extent.const_value() * 4 > t.p.target.l2_bytes / 2;
}

// The most rows of a task. A panel that is filled anew for each task wants many.
int64_t most_rows(const Tiler& t) {
  const int64_t budget = std::max<int64_t>(1, t.p.target.l2_bytes / 4 / row_bytes(t));
  Dim k = product_of(t.ctx, t.f.reduce), columns = t.f.col.extent;
  Dim total = product_of(t.ctx, t.f.outer) * t.f.row.extent * k * columns;
  if (!k.is_const() || !columns.is_const() || (total.is_const() && total.const_value() <= kWholeWork)) return budget;
  const int64_t row_work = std::max<int64_t>(1, k.const_value() * (has_large_b(t) ? t.nr : columns.const_value()));
  if (t.operand == Operand::Panel) return std::min(budget, std::max(8 * t.mr, kWholeWork / row_work));
  return std::min(budget, std::max(2 * t.mr, kTaskWork / row_work));
}

// Tasks are blocks of rows by runs of panels.
Blocking make_blocking(const Tiler& t) {
  expr::Context& ctx = t.ctx;
  Blocking b;
  std::vector<Loop> outer = t.f.outer;
  std::optional<size_t> inner_row_loop;
  for (size_t i = 0; i < outer.size(); ++i)
    if (!expr::uses_symbol(t.f.b, outer[i].var) &&
        (t.operand != Operand::Panel || !expr::uses_symbol(t.panel_source, outer[i].var)) &&
        expr::uses_symbol(t.f.a, outer[i].var))
      inner_row_loop = i;
  const Dim one = ctx.constant(1);
  const int64_t most = most_rows(t);
  Dim rows_in_task;
  b.row_first = ctx.constant(0);
  b.row_count = t.f.row.extent;
  if (inner_row_loop) {
    Loop h = outer[*inner_row_loop];
    outer.erase(outer.begin() + static_cast<long>(*inner_row_loop));
    Dim lines = max(one, min(h.extent, floordiv(ctx.constant(most), max(one, t.f.row.extent))));
    Dim blocks = ceildiv(h.extent, lines), v = ctx.index_symbol("hb", blocks);
    Dim block = ceildiv(h.extent, max(one, blocks));
    outer.push_back({*v.as_symbol(), blocks});
    b.height_first = once(t, b, "hf", v * block, 0);
    Dim count = once(t, b, "hn", min(block, h.extent - b.height_first), 1), hi = ctx.index_symbol("h", count);
    b.height_loop = Loop{*hi.as_symbol(), count};
    b.height_var = h.var;
    rows_in_task = block * t.f.row.extent;
  } else {
    const int64_t tiles = std::max<int64_t>(1, most / t.mr);
    auto upper = const_upper(ctx, t.f.row.extent);
    rows_in_task = t.f.row.extent;
    if (!upper || *upper > tiles * t.mr) {
      Dim all = ceildiv(t.f.row.extent, t.mr), blocks = ceildiv(all, tiles), v = ctx.index_symbol("mb", blocks);
      Dim size = ceildiv(all, max(one, blocks)) * t.mr;
      outer.push_back({*v.as_symbol(), blocks});
      rows_in_task = min(size, t.f.row.extent);
      b.row_first = once(t, b, "rf", v * size, 0);
      b.row_count = once(t, b, "rn", min(size, t.f.row.extent - b.row_first), 1, tiles * t.mr);
    }
  }
  b.panel_first = ctx.constant(0);
  b.panel_count = t.panels;
  Dim k = max(one, product_of(ctx, t.f.reduce)), total = product_of(ctx, t.f.outer) * t.f.row.extent * k * t.f.col.extent;
  if (total.is_const() && total.const_value() <= kWholeWork) {
    b.parallel = std::move(outer);
    return b;
  }
  if (has_large_b(t)) rows_in_task = max(ctx.constant(kRowsOfOneRead), rows_in_task);
  Dim per_panel = max(one, rows_in_task * k * t.nr);
  Dim chunk = max(one, min(t.panels, floordiv(ctx.constant(kTaskWork), per_panel)));
  Dim chunks = ceildiv(t.panels, chunk), c = ctx.index_symbol("nc", chunks);
  if (!chunks.is_const(1)) {
    b.panel_first = once(t, b, "pf", c * chunk, 0);
    b.panel_count = once(t, b, "pc", min(chunk, t.panels - b.panel_first), 1);
    outer.insert(has_large_b(t) ? outer.begin() : outer.end(), Loop{*c.as_symbol(), chunks});
  }
  b.parallel = std::move(outer);
  return b;
}

}  // namespace

loop::StmtPtr choose_height(const Dim& height, int64_t lo, int64_t hi, const std::function<loop::StmtPtr(int64_t)>& tile) {
  if (lo == hi) return tile(lo);
  int64_t mid = (lo + hi) / 2;
  expr::Context& ctx = *height->ctx;
  return loop::make_if(expr::less_equal(height, ctx.constant(mid)), choose_height(height, lo, mid, tile),
                       choose_height(height, mid + 1, hi, tile));
}

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

Result<LoweredKernel> lower_tiles(const Problem& p, const StageList& list, const te::TensorDef& sum,
                                  const std::vector<te::Tensor>& outputs, const Factors& factors, Operand operand,
                                  Dim least_rows, const Temporaries& temporaries) {
  expr::Context& ctx = p.ctx;
  Tiler t{p, sum, outputs, factors, operand};
  t.lanes = p.target.vector_bytes / byte_size(sum.accumulate);
  t.mr = p.target.tile_rows;
  t.nr = t.lanes * p.target.tile_vectors;
  // Half a vector costs no more than a whole one, on some machines half as much.
  const int64_t narrowest = operand == Operand::Panel ? t.lanes : std::max<int64_t>(1, t.lanes / 2);
  if (auto upper = const_upper(ctx, t.f.col.extent))
    while (t.nr > narrowest && t.nr / 2 >= *upper) t.nr /= 2;
  // One row: more columns instead, so that their sums do not wait for each other.
  if (t.f.row.extent.is_const(1) && operand == Operand::Packed)
    while (t.nr < t.lanes * kVectorsOfOneRow && ctx.divisible(t.f.col.extent, 2 * t.nr)) t.nr *= 2;
  t.panels = ceildiv(t.f.col.extent, t.nr);
  t.transposes = operand == Operand::Panel && runs_of(ctx, t.f) == Runs::AlongReduction;
  KernelBuilder builder(ctx, p.name, p.loc);
  Signature signature(p, list, builder, temporaries);
  Dim panel_var = ctx.index_symbol("np", t.panels), column = ctx.index_symbol("c", ctx.constant(t.nr));
  t.panel = panel_var;
  TRY(prepare_operand(t, signature, column));
  Factors reads = t.f;
  if (t.scratch) reads.b = t.panel_source;
  add_params(signature, reads, outputs);

  Blocking b = make_blocking(t);
  bool whole = ctx.divisible(t.f.col.extent, t.nr);
  auto rows = [&](bool mask_loads) {
    loop::StmtPtr s = make_rows(ctx, 1, t.mr, b.row_first, b.row_count,
                                [&](int64_t h, Dim start) { return make_tile(t, h, start, column, mask_loads, !whole); });
    if (b.height_loop) s = loop::make_for(b.height_loop->var, b.height_loop->extent, loop::ForKind::Serial, s);
    return s;
  };
  loop::StmtPtr body;
  PLIANT_CHECK(!t.f.is_padded || kWidestPanel % t.nr == 0) << "panels of " << t.nr << " columns in " << p.name;
  if (t.operand == Operand::Direct && !whole && !t.f.is_padded)
    body = loop::make_if(expr::less_equal(t.panel * t.nr + t.nr, t.f.col.extent), rows(false), rows(true));
  else
    body = rows(false);
  if (t.scratch) body = loop::make_alloc(*t.scratch, loop::make_block({fill_panel(t), body}));
  // The panel variable runs inside the task.
  Dim local_panel = ctx.index_symbol("pn", b.panel_count);
  expr::DimMap renames{{*panel_var.as_symbol(), b.panel_first + local_panel}};
  if (b.height_loop) renames[b.height_var] = b.height_first + ctx.symbol_dim(b.height_loop->var);
  body = loop::substitute(body, renames);
  body = loop::make_for(*local_panel.as_symbol(), b.panel_count, loop::ForKind::Serial, body);
  for (size_t i = b.lets.size(); i-- > 0;) body = loop::make_let(b.lets[i].first, b.lets[i].second, body);
  LoweredKernel k = built_by("tile");
  k.tasks = product_of(ctx, b.parallel);
  k.work = product_of(ctx, t.f.outer) * t.f.row.extent * t.f.col.extent * max(ctx.constant(1), product_of(ctx, t.f.reduce));
  if (has_large_b(t) && !k.tasks.is_const(1))
    k.work = max(k.work, t.f.col.extent * product_of(ctx, t.f.reduce) * kRowsOfOneRead);
  k.function = builder.finish(wrap_loops(b.parallel, loop::ForKind::Parallel, body));
  k.args = signature.take_args();
  restrict_to(ctx, k, {{least_rows, t.f.row.extent}});
  return k;
}

}  // namespace pliant::lower
