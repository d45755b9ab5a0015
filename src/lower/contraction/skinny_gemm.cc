// Two ways through the matrix. Where it runs along the columns, some rows of it at a time are added, each times its factor,
// to sums that stay in the L1 cache. Where it runs along the reduction, the vectors of some columns are multiplied into
// one register each, whose lanes are added at the end.
#include "lower/contraction/skinny_gemm.h"

#include <algorithm>

#include "lower/contraction/blocked.h"
#include "lower/reduction/long_sum.h"
#include "lower/version.h"

namespace pliant::lower {

namespace {

constexpr int64_t kSweptColumns = 2048, kLeastSwept = 512;  // of a task, multiples of every vector
constexpr int64_t kSweptWork = 2 << 20;                     // of a task, about: elements of the matrix
constexpr int64_t kDotColumns = 64;                         // of one task
constexpr int64_t kMostDotRows = 128;
constexpr int64_t kMostAtOnce = 8;  // streams that the memory keeps apart

struct SkinnyGemm {
  const Problem& p;
  const te::TensorDef& sum;
  const std::vector<te::Tensor>& outputs;
  Factors f;
  expr::Context& ctx = p.ctx;
  int64_t lanes = 0, registers = 0;
  DType type = sum.accumulate;

  Scalar a(Dim row, Dim k) const { return factor(f.a, {{f.row.var, row}, {f.reduce[0].var, k}}); }
  Scalar b(Dim column, Dim k) const { return factor(f.b, {{f.col.var, column}, {f.reduce[0].var, k}}); }
  Scalar load(loop::BufferId buffer, Dim at) const { return expr::make_load(ctx, buffer, type, {at}); }
  Scalar zero() const { return expr::make_const(ctx, type, 0); }
  Dim extent() const { return f.reduce[0].extent; }

 private:
  Scalar factor(Scalar s, const expr::DimMap& at) const { return expr::make_cast(type, expr::substitute(s, at)); }
};

loop::StmtPtr unroll(expr::Context& ctx, int64_t n, const std::function<loop::StmtPtr(Dim)>& body) {
  Dim i = ctx.index_symbol("r", ctx.constant(n));
  return loop::make_for(*i.as_symbol(), ctx.constant(n), loop::ForKind::Unroll, body(i));
}
loop::StmtPtr serial(expr::Context& ctx, Dim n, const std::function<loop::StmtPtr(Dim)>& body) {
  if (n.is_const(0)) return loop::make_block({});
  Dim i = ctx.index_symbol("i", n);
  return loop::make_for(*i.as_symbol(), n, loop::ForKind::Serial, body(i));
}
loop::StmtPtr lanes_of(expr::Context& ctx, int64_t n, const std::function<loop::StmtPtr(Dim)>& body) {
  Dim j = ctx.index_symbol("j", ctx.constant(n));
  return loop::make_for(*j.as_symbol(), ctx.constant(n), loop::ForKind::Vector, body(j));
}

// The largest power of two up to `most` for which `registers_of` fits.
int64_t largest(int64_t most, int64_t registers, const std::function<int64_t(int64_t)>& registers_of) {
  int64_t n = most;
  while (n > 1 && registers_of(n) > registers) n /= 2;
  return n;
}

// ---- along the columns

// Sums of `height` rows, `kSweptColumns` each, in `sums`.
struct RowSums {
  const SkinnyGemm& w;
  loop::BufferId sums;
  int64_t height, width;
  Dim first, count;  // the columns
};

// Adds `depth` rows of the matrix from `k` on to the `width` sums from `at` on; `valid`: how many of these exist, null for
// all.
loop::StmtPtr add_rows(const RowSums& s, loop::BufferId factors, Dim k, int64_t depth, Dim at, Dim valid) {
  expr::Context& ctx = s.w.ctx;
  const int64_t width = s.width;
  loop::Buffer acc = make_local(ctx, "acc", s.w.type, s.height * width);
  auto add = [&](Dim q, Dim r, Dim j) {
    return loop::make_store(acc.id, {r * width + j}, s.w.load(factors, r * depth + q) * s.w.b(s.first + at + j, k + q),
                            loop::StoreKind::Add);
  };
  std::vector<loop::StmtPtr> seq;
  seq.push_back(unroll(ctx, s.height, [&](Dim r) {
    return lanes_of(ctx, width, [&](Dim j) {
      return loop::make_store(acc.id, {r * width + j}, s.w.load(s.sums, r * kSweptColumns + at + j));
    });
  }));
  if (!valid) {
    seq.push_back(unroll(ctx, depth, [&](Dim q) {
      return unroll(ctx, s.height, [&](Dim r) { return lanes_of(ctx, width, [&](Dim j) { return add(q, r, j); }); });
    }));
  } else {
    seq.push_back(unroll(ctx, s.height, [&](Dim r) {
      return lanes_of(ctx, width, [&](Dim j) {
        std::vector<loop::StmtPtr> adds;
        for (int64_t q = 0; q < depth; ++q) adds.push_back(add(ctx.constant(q), r, j));
        return loop::make_if(expr::less(j, valid), loop::make_block(std::move(adds)));
      });
    }));
  }
  seq.push_back(unroll(ctx, s.height, [&](Dim r) {
    return lanes_of(ctx, width, [&](Dim j) {
      return loop::make_store(s.sums, {r * kSweptColumns + at + j}, s.w.load(acc.id, r * width + j));
    });
  }));
  return loop::make_alloc(acc, loop::make_block(std::move(seq)));
}

// Rows `k` to `k + depth` of the matrix, over all columns.
loop::StmtPtr add_all_rows(const RowSums& s, Dim k, int64_t depth) {
  expr::Context& ctx = s.w.ctx;
  loop::Buffer factors = make_local(ctx, "factors", s.w.type, s.height * depth);
  std::vector<loop::StmtPtr> seq;
  seq.push_back(unroll(ctx, s.height, [&](Dim r) {
    return unroll(ctx, depth, [&](Dim q) { return loop::make_store(factors.id, {r * depth + q}, s.w.a(r, k + q)); });
  }));
  Dim whole = floordiv(s.count, s.width), rest = mod(s.count, s.width);
  seq.push_back(serial(ctx, whole, [&](Dim v) { return add_rows(s, factors.id, k, depth, v * s.width, {}); }));
  if (!rest.is_const(0))
    seq.push_back(
        loop::make_if(expr::less(ctx.constant(0), rest), add_rows(s, factors.id, k, depth, whole * s.width, rest)));
  return loop::make_alloc(factors, loop::make_block(std::move(seq)));
}

// Long rows stream best; more tasks than one use more processors.
Dim swept_columns(const SkinnyGemm& w) {
  expr::Context& ctx = w.ctx;
  Dim parts = floordiv(ctx.constant(kSweptWork / kLeastSwept), max(ctx.constant(1), w.extent()));
  return max(ctx.constant(1), min(ctx.constant(kSweptColumns / kLeastSwept), parts)) * kLeastSwept;
}

loop::StmtPtr sweep(const SkinnyGemm& w, loop::BufferId sums, loop::BufferId totals, int64_t height, Dim first, Dim count) {
  expr::Context& ctx = w.ctx;
  const RowSums s{w, sums, height, height <= 2 ? 2 * w.lanes : w.lanes, first, count};
  const int64_t depth =
      largest(kMostAtOnce, w.registers, [&](int64_t n) { return height * n + height * (s.width / w.lanes) + 2; });
  std::vector<loop::StmtPtr> seq;
  seq.push_back(serial(ctx, ceildiv(count, s.width), [&](Dim v) {
    return unroll(ctx, height, [&](Dim r) {
      return lanes_of(ctx, s.width,
                      [&](Dim j) { return loop::make_store(sums, {r * kSweptColumns + v * s.width + j}, w.zero()); });
    });
  }));
  Dim whole = floordiv(w.extent(), depth), rest = mod(w.extent(), depth), i = ctx.index_symbol("i", whole);
  const LongSum sum(ctx, MemorySums{sums, totals, w.type, ctx.constant(height), kSweptColumns, count}, w.lanes, {whole},
                    kProductBlock / depth);
  std::vector<loop::StmtPtr> sweeps;
  if (!whole.is_const(0)) sweeps.push_back(sum.at_level(0, {*i.as_symbol(), whole}, add_all_rows(s, i * depth, depth)));
  if (!rest.is_const(0)) sweeps.push_back(serial(ctx, rest, [&](Dim k) { return add_all_rows(s, whole * depth + k, 1); }));
  seq.push_back(sum.around(loop::make_block(std::move(sweeps))));
  seq.push_back(unroll(ctx, height, [&](Dim r) {
    return make_vector_loop(ctx, count, w.lanes, [&](Dim j) {
      return store_results(w.sum, w.outputs, w.f, r, first + j, w.load(sums, r * kSweptColumns + j));
    });
  }));
  return loop::make_block(std::move(seq));
}

// ---- along the reduction

// `count` elements in whole vectors of at most `lanes`: body(i) for each element i.
loop::StmtPtr for_vectors(expr::Context& ctx, int64_t count, int64_t lanes, const std::function<loop::StmtPtr(Dim)>& body) {
  const int64_t width = std::min(lanes, count & -count);
  Dim v = ctx.index_symbol("v", ctx.constant(count / width)), l = ctx.index_symbol("l", ctx.constant(width));
  loop::StmtPtr lane = loop::make_for(*l.as_symbol(), ctx.constant(width), loop::ForKind::Vector, body(v * width + l));
  return loop::make_for(*v.as_symbol(), ctx.constant(count / width), loop::ForKind::Unroll, lane);
}

// `parts` holds `sums` groups of `partials` neighbouring elements, a power of two; `use` reads the sum of each group, one
// after the other. Vectors have `lanes` elements.
loop::StmtPtr make_folded(expr::Context& ctx, DType t, loop::BufferId parts, int64_t sums, int64_t partials, int64_t lanes,
                          const std::function<loop::StmtPtr(loop::BufferId)>& use) {
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

// `height` rows from `row` on by `wide` columns from `first` on; `valid`: how many of these exist, null for all.
loop::StmtPtr dot_tile(const SkinnyGemm& w, Dim row, int64_t height, int64_t wide, Dim first, Dim valid) {
  expr::Context& ctx = w.ctx;
  const int64_t lanes = w.lanes;
  loop::Buffer parts = make_local(ctx, "parts", w.type, height * wide * lanes);
  auto for_tile = [&](const std::function<loop::StmtPtr(Dim, Dim, Dim)>& body) {
    return unroll(ctx, wide, [&](Dim c) {
      return unroll(ctx, height, [&](Dim r) { return lanes_of(ctx, lanes, [&](Dim l) { return body(r, c, l); }); });
    });
  };
  auto part = [&](Dim r, Dim c, Dim l) { return std::vector<Dim>{(r * wide + c) * lanes + l}; };
  auto add = [&](Dim k, Dim r, Dim c, Dim l) {
    // Columns that do not exist read the last one again.
    Dim column = valid ? first + min(c, valid - 1) : first + c;
    return loop::make_store(parts.id, part(r, c, l), w.a(row + r, k + l) * w.b(column, k + l), loop::StoreKind::Add);
  };
  Dim whole = floordiv(w.extent(), lanes), rest = mod(w.extent(), lanes);
  std::vector<loop::StmtPtr> sums;
  const LongSum sum(ctx, w.sum.combiner, parts, lanes, {whole}, kProductBlock);
  Dim i = ctx.index_symbol("i", whole);
  if (!whole.is_const(0))
    sums.push_back(
        sum.at_level(0, {*i.as_symbol(), whole}, for_tile([&](Dim r, Dim c, Dim l) { return add(i * lanes, r, c, l); })));
  if (!rest.is_const(0)) {
    loop::StmtPtr last =
        for_tile([&](Dim r, Dim c, Dim l) { return loop::make_if(expr::less(l, rest), add(whole * lanes, r, c, l)); });
    sums.push_back(rest.is_const() ? last : loop::make_if(expr::less(ctx.constant(0), rest), last));
  }
  auto store = [&](loop::BufferId totals) {
    return unroll(ctx, height, [&](Dim r) {
      return lanes_of(ctx, wide, [&](Dim c) {
        loop::StmtPtr s = store_results(w.sum, w.outputs, w.f, row + r, first + c, w.load(totals, r * wide + c));
        return valid ? loop::make_if(expr::less(c, valid), s) : s;
      });
    });
  };
  loop::StmtPtr zero = for_tile([&](Dim r, Dim c, Dim l) { return loop::make_store(parts.id, part(r, c, l), w.zero()); });
  loop::StmtPtr fold = make_folded(ctx, w.type, parts.id, height * wide, lanes, lanes, store);
  return loop::make_alloc(parts, loop::make_block({zero, sum.around(loop::make_block(std::move(sums))), fold}));
}

// Some columns at a time, which stay in the L1 cache while all rows are multiplied with them.
loop::StmtPtr dots(const SkinnyGemm& w, Dim rows, int64_t highest, Dim first, Dim count) {
  expr::Context& ctx = w.ctx;
  auto over_columns = [&](int64_t wide, const std::function<loop::StmtPtr(Dim, Dim)>& columns) {
    Dim whole = floordiv(count, wide), rest = mod(count, wide);
    std::vector<loop::StmtPtr> seq{serial(ctx, whole, [&](Dim i) { return columns(first + i * wide, {}); })};
    if (!rest.is_const(0))
      seq.push_back(loop::make_if(expr::less(ctx.constant(0), rest), columns(first + whole * wide, rest)));
    return loop::make_block(std::move(seq));
  };
  auto one_tile = [&](int64_t height) {
    const int64_t wide = largest(kMostAtOnce, w.registers, [&](int64_t n) { return height * n + height + 1; });
    return over_columns(wide, [&](Dim from, Dim valid) { return dot_tile(w, ctx.constant(0), height, wide, from, valid); });
  };
  // Heights from here on have as many sums as there are registers for, with four columns.
  const int64_t high = w.registers >= 32 ? 6 : 3, low = (high + 1) / 2;
  auto tiles = [&] {
    return over_columns(4, [&](Dim from, Dim valid) {
      return make_rows(ctx, low, high, ctx.constant(0), rows,
                       [&](int64_t height, Dim row) { return dot_tile(w, row, height, 4, from, valid); });
    });
  };
  if (rows.is_const()) return rows.const_value() <= low ? one_tile(rows.const_value()) : tiles();
  loop::StmtPtr few = choose_height(rows, 1, std::min(low, highest), one_tile);
  return highest <= low ? few : loop::make_if(expr::less_equal(rows, ctx.constant(low)), few, tiles());
}

bool runs_along(expr::Context& ctx, Scalar s, SymbolId var) {
  bool runs = false;
  for (Scalar l : expr::loads_of(s)) {
    auto stride = stride_in(ctx, l->index[0], var);
    if (!stride || !(stride->is_const(0) || stride->is_const(1))) return false;
    runs = runs || stride->is_const(1);
  }
  return runs;
}

}  // namespace

Runs runs_of(expr::Context& ctx, const Factors& f) {
  if (runs_along(ctx, f.b, f.col.var)) return Runs::AlongColumns;
  if (!f.reduce.empty() && runs_along(ctx, f.b, f.reduce.back().var)) return Runs::AlongReduction;
  return Runs::Neither;
}

Dim most_skinny_rows(expr::Context& ctx, const target::Target& target, const Factors& f) {
  const int64_t least = target.vector_registers >= 32 ? 6 : 4;
  if (runs_of(ctx, f) != Runs::AlongReduction) return ctx.constant(least);
  // The longer the sums, the less it matters that their lanes are added one by one at the end.
  return max(ctx.constant(least), min(ctx.constant(kMostDotRows), floordiv(f.reduce[0].extent, 8)));
}

bool is_matrix(expr::Context& ctx, const Factors& f) {
  const Runs runs = runs_of(ctx, f);
  if (f.reduce.size() != 1 || runs == Runs::Neither) return false;
  const Loop& inner = runs == Runs::AlongColumns ? f.col : f.reduce[0];
  const Loop& outer = runs == Runs::AlongColumns ? f.reduce[0] : f.col;
  for (Scalar l : expr::loads_of(f.b)) {
    // One value for the whole matrix.
    if (!expr::uses_symbol(l, inner.var) && !expr::uses_symbol(l, outer.var)) continue;
    auto step = stride_in(ctx, l->index[0], outer.var);
    if (!step || (step->is_const() && !ctx.proves_less_equal(inner.extent, *step))) return false;
  }
  return true;
}

bool fits_skinny_gemm(expr::Context& ctx, const Factors& f) {
  if (!is_matrix(ctx, f)) return false;
  for (const Loop& l : f.outer)
    if (!expr::uses_symbol(f.b, l.var)) return false;
  return runs_of(ctx, f) == Runs::AlongColumns || runs_along(ctx, f.a, f.reduce[0].var);
}

Result<LoweredKernel> lower_skinny_gemm(const Problem& p, const StageList& list, const te::TensorDef& sum,
                                        const std::vector<te::Tensor>& outputs, const Factors& factors,
                                        const Temporaries& temporaries) {
  expr::Context& ctx = p.ctx;
  SkinnyGemm w{p, sum, outputs, factors};
  w.lanes = p.target.vector_bytes / byte_size(sum.accumulate);
  w.registers = p.target.vector_registers;
  KernelBuilder builder(ctx, p.name + "_few", p.loc);
  Signature signature(p, list, builder, temporaries);
  add_params(signature, w.f, outputs);

  Dim rows = w.f.row.extent, one = ctx.constant(1), zero = ctx.constant(0);
  const Dim most = most_skinny_rows(ctx, p.target, w.f);
  const bool sweeps = runs_of(ctx, w.f) == Runs::AlongColumns;
  const Dim block = sweeps ? swept_columns(w) : ctx.constant(kDotColumns);
  std::vector<Loop> parallel = w.f.outer;
  Dim blocks = ceildiv(w.f.col.extent, block), c = ctx.index_symbol("nb", blocks);
  parallel.push_back({*c.as_symbol(), blocks});
  Dim first = c * block, count = min(block, w.f.col.extent - first);
  const int64_t highest = std::min(*const_upper(ctx, most), const_upper(ctx, rows).value_or(kMostDotRows));
  loop::StmtPtr body;
  if (sweeps) {
    loop::Buffer sums;
    sums.id = ctx.fresh_tensor();
    sums.name = "sums";
    sums.dtype = sum.accumulate;
    sums.shape = {ctx.constant(highest * kSweptColumns)};
    sums.scope = loop::Scope::Scratch;
    // What blocks of a long reduction add to.
    loop::Buffer totals = sums;
    totals.id = ctx.fresh_tensor();
    totals.name = "totals";
    totals.dtype = DType::F64;
    totals.shape[0] = totals.shape[0] * min(one, max(zero, floordiv(w.extent() - 1, kProductBlock)));
    const int64_t lowest = rows.is_const() ? rows.const_value() : 1;
    body = choose_height(rows, lowest, highest, [&](int64_t h) { return sweep(w, sums.id, totals.id, h, first, count); });
    if (!totals.shape[0].is_const(0)) body = loop::make_alloc(std::move(totals), body);
    body = loop::make_alloc(std::move(sums), body);
  } else {
    body = dots(w, rows, highest, first, count);
  }
  LoweredKernel k = built_by("skinny_gemm");
  k.tasks = product_of(ctx, parallel);
  k.work = product_of(ctx, w.f.outer) * rows * w.f.col.extent * max(one, product_of(ctx, w.f.reduce));
  k.function = builder.finish(wrap_loops(parallel, loop::ForKind::Parallel, body));
  k.args = signature.take_args();
  restrict_to(ctx, k, {{one, rows}, {rows, most}});
  return k;
}

}  // namespace pliant::lower
