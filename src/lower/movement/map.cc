// Elementwise and index-moving stages: parallel over the outer loops, vectorised along the innermost.
#include <algorithm>

#include "lower/checks.h"
#include "lower/movement/cut.h"
#include "lower/movement/register_transpose.h"
#include "lower/movement/runs.h"
#include "lower/movement/strided.h"
#include "lower/movement/transpose.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

loop::StmtPtr make_stage_store(expr::Context& ctx, loop::BufferId buffer, Dim offset, Scalar value,
                               std::optional<SymbolId> vector_var) {
  if (value->kind == expr::ScalarKind::Select && vector_var && !expr::uses_symbol(value->args[0], *vector_var))
    return loop::make_if(value->args[0], make_stage_store(ctx, buffer, offset, value->args[1], vector_var),
                         make_stage_store(ctx, buffer, offset, value->args[2], vector_var));
  return loop::make_store(buffer, {offset}, value);
}

namespace {

constexpr int64_t kChunkBytes = 16384;  // of the widest type, for one task along the vector loop
constexpr int64_t kSharing = 8;         // iterations that share the places that they read at
constexpr int64_t kShortRow = 4;        // vectors of a row that is not worth parts of its own around a cut

// A function that is a polynomial, not an instruction.
bool has_function(Scalar s) {
  bool found = false;
  for_each_scalar(s, [&](Scalar x) {
    using expr::BinaryOp;
    using expr::UnaryOp;
    if (x->kind == expr::ScalarKind::Unary && is_float(x->dtype)) {
      const UnaryOp op = x->unary();
      const bool is_instruction = op == UnaryOp::Sqrt || op == UnaryOp::Rsqrt || op == UnaryOp::Recip;
      found = found || (op >= UnaryOp::Exp && op <= UnaryOp::Sigmoid && !is_instruction);
    }
    if (x->kind == expr::ScalarKind::Binary && is_float(x->dtype)) {
      const BinaryOp op = x->binary();
      found = found || op == BinaryOp::Pow || op == BinaryOp::Rem || op == BinaryOp::Mod || op == BinaryOp::Atan2;
    }
  });
  return found;
}

// Bytes of the widest type that is computed in.
int64_t width_of(const Nest& nest) {
  int64_t width = 1;
  for (Scalar s : nest.scalars)
    for_each_scalar(s, [&](Scalar t) {
      const bool is_half = t->dtype == DType::F16 || t->dtype == DType::BF16;
      width = std::max(width, is_half && t->kind != expr::ScalarKind::Load ? 4 : byte_size(t->dtype));
    });
  return width;
}

// Elements of one task along the vector loop.
int64_t chunk_of(const Nest& nest) { return kChunkBytes / std::min<int64_t>(4, width_of(nest)); }

// Lanes of the vector loop. Long loops in bytes or 16-bit integers alone fill whole vectors; halves are computed in f32.
int64_t lanes_of(expr::Context& ctx, const target::Target& target, const Nest& nest) {
  int64_t lanes = lanes_for(target, nest.scalars);
  // Two registers at a time through the long chains of a function: one works while the other waits for results.
  const bool waits = std::any_of(nest.scalars.begin(), nest.scalars.end(), [](Scalar s) { return has_function(s); });
  if (waits && !nest.loops.empty() && !(const_upper(ctx, nest.loops.back().extent).value_or(INT64_MAX) < 4 * lanes))
    lanes *= 2;
  const int64_t width = width_of(nest);
  if (width >= 4 || nest.loops.empty()) return lanes;
  const Dim inner = nest.loops.back().extent;
  const int64_t wide = target.vector_bytes / width;
  return inner.is_const() && inner.const_value() < 2 * wide ? lanes : wide;
}

// scalars[k] is stored at offsets[k] of stage k. With `segment`: of a group of one, in that range only.
Nest make_nest(const Problem& p, const StageList& list, const std::vector<const Stage*>& group, const Segment* segment) {
  Nest nest;
  const te::TensorDef& first = *group[0]->tensor;
  for (size_t i = 0; i < first.shape.size(); ++i) nest.loops.push_back({first.index[i], first.shape[i]});
  for (const Stage* s : group) {
    expr::DimMap map;
    for (size_t i = 0; i < first.index.size(); ++i)
      if (s->tensor->index[i] != first.index[i]) map[s->tensor->index[i]] = p.ctx.symbol_dim(first.index[i]);
    std::vector<Dim> index;
    for (SymbolId v : first.index) index.push_back(p.ctx.symbol_dim(v));
    Scalar body = s->body;
    if (segment != nullptr) {
      const SymbolId var = first.index[segment->axis];
      nest.loops[segment->axis].extent = segment->length;
      map[var] = segment->begin + p.ctx.symbol_dim(var);  // in the output the segment starts at 0: first_of is added outside
      body = segment->body;
    }
    nest.scalars.push_back(flatten_loads(p.ctx, expr::substitute(body, map), list.shapes));
    nest.offsets.push_back(flat_offset(p.ctx, s->tensor->shape, index));
  }
  split_repeats(p.ctx, nest, lanes_for(p.target, nest.scalars));
  collapse(p.ctx, nest);
  return nest;
}

// The element of the output at which a segment starts.
Dim first_of(expr::Context& ctx, const te::TensorDef& t, const Segment& segment) {
  return segment.begin * row_major(ctx, t.shape)[segment.axis];
}

// From the segment's first element to beyond its last one, or to the result's where that is as simple. Of segments that lie
// one after the other only the segment, so that the kernels of segments of one shape are equal.
Dim count_of(expr::Context& ctx, const te::TensorDef& t, const Segment& segment, Dim first) {
  const bool outermost = std::all_of(t.shape.begin(), t.shape.begin() + static_cast<std::ptrdiff_t>(segment.axis),
                                     [](Dim d) { return d.is_const(1); });
  return outermost ? segment.length * row_major(ctx, t.shape)[segment.axis] : element_count(ctx, t.shape) - first;
}

// Stages of one nest, of which the first `checks` are checks: trap k is that of stage k.
struct Group {
  std::vector<const Stage*> stages;
  size_t checks = 0;
};
Group checks_first(const Problem& p, std::vector<const Stage*> stages) {
  auto is_check = [&](const Stage* s) { return check_of(p, *s).has_value(); };
  const auto end = std::stable_partition(stages.begin(), stages.end(), is_check);
  const auto checks = static_cast<size_t>(end - stages.begin());
  return {std::move(stages), checks};
}

// All checks, then all stores, of one point of the nest; `at` replaces the innermost loop's variable.
loop::StmtPtr make_point(expr::Context& ctx, const Nest& nest, const Group& group, const expr::DimMap& at,
                         std::optional<SymbolId> vector_var) {
  std::vector<loop::StmtPtr> stores;
  for (size_t k = 0; k < group.stages.size(); ++k)
    if (k < group.checks)
      stores.push_back(loop::make_check(expr::substitute(nest.scalars[k], at), static_cast<uint32_t>(k), {}));
    else
      stores.push_back(make_stage_store(ctx, group.stages[k]->tensor->id, expr::substitute(nest.offsets[k], at),
                                        expr::substitute(nest.scalars[k], at), vector_var));
  return loop::make_block(std::move(stores));
}

// The lane variable of an element index made by make_vector_loop: it is made last.
std::optional<SymbolId> lane_of(Dim v, Dim outer) {
  std::optional<SymbolId> last;
  for (SymbolId s : expr::symbols_of(v))
    if (!expr::uses_symbol(outer, s)) last = s;  // in id order
  return last;
}

// Whether every output has the `count` elements of each iteration of `vector` side by side.
bool takes_turns(expr::Context& ctx, const Nest& nest, SymbolId vector, SymbolId few, int64_t count) {
  if (count < 2 || count > kFewVectors) return false;
  return std::all_of(nest.offsets.begin(), nest.offsets.end(), [&](Dim d) {
    const auto along = stride_in(ctx, d, vector), across = stride_in(ctx, d, few);
    return along && across && along->is_const(count) && across->is_const(1);
  });
}

// Whole vectors from `begin` on, each with `count` elements an iteration of `vector`.
loop::StmtPtr make_turns(expr::Context& ctx, const Nest& nest, const std::vector<const Stage*>& group,
                         const expr::DimMap& outer, SymbolId vector, SymbolId few, int64_t count, Dim begin, Dim vectors,
                         int64_t lanes) {
  const Dim v = ctx.index_symbol("v", vectors), first = begin + v * lanes;
  std::vector<loop::StmtPtr> parts;
  for (size_t k = 0; k < group.size(); ++k) {
    auto at = [&](Dim along, Dim across) {
      expr::DimMap map = outer;
      map[vector] = along;
      map[few] = across;
      return map;
    };
    const Dim base = expr::substitute(nest.offsets[k], at(first, ctx.constant(0)));
    parts.push_back(make_interleaved(
        ctx, nest.scalars[k]->dtype, count, lanes,
        [&](Dim part, Dim lane) { return expr::substitute(nest.scalars[k], at(first + lane, part)); },
        [&](Dim place, Scalar value) { return loop::make_store(group[k]->tensor->id, {base + place}, value); }));
  }
  return loop::make_for(*v.as_symbol(), vectors, loop::ForKind::Serial, loop::make_block(std::move(parts)));
}

// The loop outside all but the last two whose iterations read at the same places but for a stride, where finding the places
// takes several loads: that of an image's channels, for one. Their vectors are computed once for a few iterations.
std::optional<size_t> loop_of_shared_places(expr::Context& ctx, const Nest& nest) {
  constexpr size_t kLeastLoads = 2;
  std::vector<Scalar> finding;
  std::vector<Dim> gathers;
  for (Dim d : all_offsets(nest)) {
    const std::vector<Scalar> loads = expr::loads_of(expr::make_index(d));
    if (loads.empty()) continue;
    gathers.push_back(d);
    for (Scalar s : loads)
      if (std::find(finding.begin(), finding.end(), s) == finding.end()) finding.push_back(s);
  }
  const SymbolId inner = nest.loops.back().var;
  auto uses = [](const std::vector<Scalar>& all, SymbolId var) {
    return std::any_of(all.begin(), all.end(), [&](Scalar s) { return expr::uses_symbol(s, var); });
  };
  if (finding.size() < kLeastLoads || !uses(finding, inner)) return std::nullopt;
  for (size_t j = nest.loops.size() - 1; j-- > 1;) {
    const Loop& l = nest.loops[j - 1];
    const bool strides = std::all_of(gathers.begin(), gathers.end(), [&](Dim d) { return stride_in(ctx, d, l.var); });
    if (strides && !uses(finding, l.var)) return j - 1;
  }
  return std::nullopt;
}

// Tasks of the outer loops, and of chunks of a long innermost one, which is the vector loop.
GridOfBlocks make_rows_of_vectors(expr::Context& ctx, const target::Target& target, const Nest& nest, const Group& group,
                                  int64_t lanes) {
  const Tail tail = tail_for(target, nest.scalars);
  GridOfBlocks grid{nest.loops, {}};
  Loop inner = grid.parallel.back();
  grid.parallel.pop_back();
  // A last axis of a few elements (channels of an image): the axis before it is the vector, and this one is unrolled
  // inside.
  std::vector<Dim> unrolled{Dim()};
  std::optional<SymbolId> unrolled_var;
  if (!grid.parallel.empty() && inner.extent.is_const() && inner.extent.const_value() <= lanes / 2) {
    unrolled.clear();
    for (int64_t i = 0; i < inner.extent.const_value(); ++i) unrolled.push_back(ctx.constant(i));
    unrolled_var = inner.var;
    inner = grid.parallel.back();
    grid.parallel.pop_back();
  }
  auto upper = const_upper(ctx, inner.extent);
  Dim begin = ctx.constant(0), length = inner.extent;
  std::vector<Loop> serial;
  expr::DimMap outer;
  std::optional<Loop> sharing;
  if (const auto j = unrolled_var || group.checks > 0 ? std::nullopt : loop_of_shared_places(ctx, nest)) {
    const Loop l = grid.parallel[*j];
    const Dim blocks = ceildiv(l.extent, kSharing), b = ctx.index_symbol("b", blocks);
    const Dim count = min(ctx.constant(kSharing), l.extent - b * kSharing), c = ctx.index_symbol("c", count);
    grid.parallel[*j] = {*b.as_symbol(), blocks};
    sharing = {*c.as_symbol(), count};
    outer[l.var] = b * kSharing + c;
  }
  if (!upper && !grid.parallel.empty()) {
    const Loop row = grid.parallel.back();
    grid.parallel.pop_back();
    const RowBlock block = make_row_block(ctx, row, inner.extent, grid.parallel);
    Dim r = ctx.index_symbol("r", block.length);
    serial.push_back({*r.as_symbol(), block.length});
    outer[row.var] = block.begin + r;
  }
  const int64_t chunk = chunk_of(nest);
  if (!upper || *upper > 2 * chunk) {
    Dim chunks = ceildiv(inner.extent, chunk);
    Dim t = ctx.index_symbol("t", chunks);
    grid.parallel.push_back({*t.as_symbol(), chunks});
    begin = t * chunk;
    length = min(ctx.constant(chunk), inner.extent - begin);
  } else if (!grid.parallel.empty() && *upper <= 512) {
    serial.push_back(grid.parallel.back());  // short rows: several make a task
    grid.parallel.pop_back();
  }
  std::vector<loop::StmtPtr> parts;
  const int64_t count = static_cast<int64_t>(unrolled.size());
  if (unrolled_var && group.checks == 0 && takes_turns(ctx, nest, inner.var, *unrolled_var, count)) {
    const Dim vectors = floordiv(length, lanes);
    if (!vectors.is_const(0))
      parts.push_back(make_turns(ctx, nest, group.stages, outer, inner.var, *unrolled_var, count, begin, vectors, lanes));
    begin = begin + vectors * lanes;
    length = mod(length, lanes);
  }
  auto element = [&](const Nest& n, Dim v) {
    std::vector<loop::StmtPtr> points;
    for (Dim u : unrolled) {
      expr::DimMap at = outer;
      at[inner.var] = begin + v;
      if (unrolled_var) at[*unrolled_var] = u;
      points.push_back(make_point(ctx, n, group, at, lane_of(v, begin)));
    }
    loop::StmtPtr st = loop::make_block(std::move(points));
    return sharing ? loop::make_for(sharing->var, sharing->extent, loop::ForKind::Serial, st) : st;
  };
  auto rows = [&](loop::StmtPtr row) {
    std::vector<loop::StmtPtr> all = parts;
    all.push_back(std::move(row));
    return wrap_loops(serial, loop::ForKind::Serial, loop::make_block(std::move(all)));
  };
  grid.body = rows(make_vector_loop(ctx, length, lanes, [&](Dim v) { return element(nest, v); }, tail));
  if (const auto cut =
          unrolled_var || sharing || group.checks > 0 ? std::nullopt : find_cut(ctx, target, nest.scalars, inner)) {
    Nest sides[3] = {nest, nest, nest};
    for (size_t side : {Before, After})
      for (Scalar& s : sides[side].scalars) s = assume(s, cut->condition, cut->holds_before == (side == Before));
    const loop::StmtPtr in_parts = make_cut_loop(ctx, length, lanes, tail, expr::substitute(cut->at, outer) - begin,
                                                 [&](Side side, Dim v) { return element(sides[side], v); });
    const Dim enough = ctx.constant(kShortRow * lanes);
    if (ctx.proves_less_equal(enough, length))
      grid.body = rows(in_parts);
    else if (!ctx.proves_less_equal(length, enough - 1))
      grid.body = loop::make_if(expr::less_equal(enough, length), rows(in_parts), grid.body);
  }
  return grid;
}

// The nest of a group as what is told by how its loads walk through memory.
struct Walk {
  FlatMap flat;
  std::optional<Transposed> transposed;
  std::optional<Dim> step;
};
Walk walk_of(const Problem& p, const StageList& list, const Nest& nest, const std::vector<const Stage*>& group) {
  Walk w{{nest, {}}, {}, {}};
  for (const Stage* s : group) w.flat.buffers.push_back(s->tensor->id);
  auto elements_of = [&](expr::TensorId id) { return element_count(p.ctx, list.shapes.at(id)); };
  w.transposed = find_transposed(p.ctx, p.target, w.flat, elements_of);
  if (!w.transposed && !merges_at_run_time(p.ctx, nest, lanes_of(p.ctx, p.target, nest)))
    w.step = find_strided(p.ctx, w.flat);
  return w;
}

// Chooses by how the loads walk through memory.
GridOfBlocks make_grid(const Problem& p, const StageList& list, const Nest& nest, const Group& group) {
  expr::Context& ctx = p.ctx;
  const int64_t lanes = lanes_of(ctx, p.target, nest);
  const Walk walk = group.checks == 0 ? walk_of(p, list, nest, group.stages) : Walk();
  if (walk.transposed) return make_transposed(ctx, p.target, walk.flat, *walk.transposed);
  if (merges_at_run_time(ctx, nest, lanes)) {
    Runs runs = make_runs(ctx, nest, chunk_of(nest), lanes, tail_for(p.target, nest.scalars),
                          [&](const Nest& run, SymbolId var, Dim at) {
                            return make_point(ctx, run, group, {{var, at}}, lane_of(at, ctx.constant(0)));
                          });
    return {{runs.tasks}, runs.body};
  }
  if (walk.step) return make_strided(ctx, p.target, walk.flat, *walk.step);
  if (nest.loops.empty()) return {{}, make_point(ctx, nest, group, {}, std::nullopt)};
  return make_rows_of_vectors(ctx, p.target, nest, group, lanes);
}

}  // namespace

bool tests_in_place(const Problem& p, const StageList& list, const std::vector<const Stage*>& group) {
  const Walk walk = walk_of(p, list, make_nest(p, list, group, nullptr), group);
  return !walk.transposed && !walk.step;
}

Result<LoweredKernel> lower_map_stages(const Problem& p, const StageList& list, const std::vector<const Stage*>& stages,
                                       const Temporaries& temporaries, const Segment* segment) {
  expr::Context& ctx = p.ctx;
  const Group group = checks_first(p, stages);
  const Stage& named = *group.stages[std::min(group.checks, group.stages.size() - 1)];
  KernelBuilder builder(ctx, p.name + "_" + named.tensor->name, p.loc);
  Nest nest = make_nest(p, list, group.stages, segment);
  Signature signature(p, list, builder, temporaries);
  int64_t cost = 0;
  for (Scalar s : nest.scalars) {
    signature.add_reads(s, {});
    cost += cost_of(s) + 1;
  }
  for (Dim d : nest.offsets) signature.add_reads(expr::make_index(d), {});
  if (segment != nullptr) {
    const te::Tensor& t = stages[0]->tensor;
    const Dim first = first_of(ctx, *t, *segment);
    signature.add_write_from(t, first, count_of(ctx, *t, *segment, first));
  } else {
    for (size_t k = group.checks; k < group.stages.size(); ++k) signature.add_write(group.stages[k]->tensor);
  }
  for (size_t k = 0; k < group.checks; ++k) {
    const size_t check = *check_of(p, *group.stages[k]);
    builder.add_trap(p.checks[check].message, location_of_check(p.function, p.node, check, ctx));
  }
  const GridOfBlocks grid = make_grid(p, list, nest, group);
  LoweredKernel k;
  k.tasks = product_of(ctx, grid.parallel);
  k.work = product_of(ctx, nest.loops) * cost;
  k.function = builder.finish(wrap_loops(grid.parallel, loop::ForKind::Parallel, grid.body));
  k.args = signature.take_args();
  return k;
}

}  // namespace pliant::lower
