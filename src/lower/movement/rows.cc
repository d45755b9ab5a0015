#include "lower/movement/rows.h"

#include <algorithm>

#include "lower/movement/register_transpose.h"
#include "lower/movement/strided.h"
#include "lower/movement/vector_rows.h"

namespace pliant::lower {

std::optional<SymbolId> lane_of(Dim v, Dim outer) {
  std::optional<SymbolId> last;
  for (SymbolId s : expr::symbols_of(v))
    if (!expr::uses_symbol(outer, s)) last = s;  // in id order
  return last;
}

namespace {

// Whether every output has the `count` elements of each iteration of `vector` side by side.
bool takes_turns(expr::Context& ctx, const Nest& nest, SymbolId vector, SymbolId few, int64_t count) {
  if (count < 2 || count > kFewVectors) return false;
  return std::all_of(nest.offsets.begin(), nest.offsets.end(), [&](Dim d) {
    const auto along = stride_in(ctx, d, vector), across = stride_in(ctx, d, few);
    return along && across && along->is_const(count) && across->is_const(1);
  });
}

// Whole vectors from `begin` on, each with `count` elements an iteration of `vector`.
loop::StmtPtr make_turns(expr::Context& ctx, const FlatMap& map, const expr::DimMap& outer, SymbolId vector, SymbolId few,
                         int64_t count, Dim begin, Dim vectors, int64_t lanes) {
  const Nest& nest = map.nest;
  const Dim v = ctx.index_symbol("v", vectors), first = begin + v * lanes;
  std::vector<loop::StmtPtr> parts;
  for (size_t k = 0; k < map.buffers.size(); ++k) {
    auto at = [&](Dim along, Dim across) {
      expr::DimMap place = outer;
      place[vector] = along;
      place[few] = across;
      return place;
    };
    const Dim base = expr::substitute(nest.offsets[k], at(first, ctx.constant(0)));
    parts.push_back(make_interleaved(
        ctx, nest.scalars[k]->dtype, count, lanes,
        [&](Dim part, Dim lane) { return expr::substitute(nest.scalars[k], at(first + lane, part)); },
        [&](Dim place, Scalar value) { return loop::make_store(map.buffers[k], {base + place}, value); }));
  }
  return loop::make_for(v, vectors, loop::ForKind::Serial, loop::make_block(std::move(parts)));
}

// What a task does of the nest's rows.
struct Rows {
  std::vector<Loop> parallel, serial;
  expr::DimMap outer;  // the loops that were taken apart
  Dim begin, length;   // along the vector loop
};
Rows rows_of_tasks(expr::Context& ctx, const Nest& nest, const Loop& inner) {
  Rows rows{nest.loops, {}, {}, ctx.constant(0), inner.extent};
  rows.parallel.resize(nest.loops.size() - 2);
  const std::optional<int64_t> upper = const_upper(ctx, inner.extent);
  if (!upper && !rows.parallel.empty()) {
    const Loop row = rows.parallel.back();
    rows.parallel.pop_back();
    const RowBlock block = make_row_block(ctx, row, inner.extent, rows.parallel);
    const Dim r = ctx.index_symbol("r", block.length);
    rows.serial.push_back({*r.as_symbol(), block.length});
    rows.outer[row.var] = block.begin + r;
  }
  const int64_t chunk = chunk_of(nest.scalars);
  if (!upper || *upper > 2 * chunk) {
    const Dim chunks = ceildiv(inner.extent, chunk), t = ctx.index_symbol("t", chunks);
    rows.parallel.push_back({*t.as_symbol(), chunks});
    rows.begin = t * chunk;
    rows.length = min(ctx.constant(chunk), inner.extent - rows.begin);
  } else if (!rows.parallel.empty() && *upper <= kShortTask) {
    rows.serial.push_back(rows.parallel.back());
    rows.parallel.pop_back();
  }
  return rows;
}

}  // namespace

std::optional<GridOfBlocks> make_interleaved_rows(expr::Context& ctx, const target::Target& target, const FlatMap& map,
                                                  int64_t lanes, const MakePointAt& point) {
  const Nest& nest = map.nest;
  const Loop& last = nest.loops.back();
  if (nest.loops.size() == 1 || !is_few(last.extent, lanes)) return std::nullopt;
  const Loop& inner = nest.loops[nest.loops.size() - 2];
  const SymbolId vector = inner.var, few = last.var;
  const int64_t count = last.extent.const_value();
  if (!takes_turns(ctx, nest, vector, few, count)) return std::nullopt;
  const Rows rows = rows_of_tasks(ctx, nest, inner);
  std::vector<loop::StmtPtr> parts;
  const Dim vectors = floordiv(rows.length, lanes), begin = rows.begin + vectors * lanes;
  if (!vectors.is_const(0))
    parts.push_back(make_turns(ctx, map, rows.outer, vector, few, count, rows.begin, vectors, lanes));
  auto element = [&](Dim v) {
    std::vector<loop::StmtPtr> points;
    for (int64_t u = 0; u < count; ++u) {
      expr::DimMap at = rows.outer;
      at[vector] = begin + v;
      at[few] = ctx.constant(u);
      points.push_back(point(at, lane_of(v, begin)));
    }
    return loop::make_block(std::move(points));
  };
  parts.push_back(make_vector_loop(ctx, mod(rows.length, lanes), lanes, element, tail_for(target, nest.scalars)));
  return GridOfBlocks{rows.parallel, wrap_loops(rows.serial, loop::ForKind::Serial, loop::make_block(std::move(parts))),
                      "interleaved rows"};
}

}  // namespace pliant::lower
