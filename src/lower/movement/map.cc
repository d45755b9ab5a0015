// Elementwise and index-moving stages: the nest that they share, and who makes its kernel.
#include <algorithm>

#include "lower/checks.h"
#include "lower/movement/rows.h"
#include "lower/movement/runs.h"
#include "lower/movement/strided.h"
#include "lower/movement/vector_rows.h"
#include "lower/stage_kernels.h"
#include "lower/templates/template.h"

namespace pliant::lower {

namespace {

// `buffer[offset] = value`; a Select whose condition does not vary along `vector_var` becomes an If around two stores.
loop::StmtPtr make_stage_store(loop::BufferId buffer, Dim offset, Scalar value, std::optional<SymbolId> vector_var) {
  if (value->kind != expr::ScalarKind::Select || !vector_var || expr::uses_symbol(value->args[0], *vector_var))
    return loop::make_store(buffer, {offset}, value);
  auto side = [&](size_t k) { return make_stage_store(buffer, offset, value->args[k], vector_var); };
  return loop::make_if(value->args[0], side(1), side(2));
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
    Scalar body = s->body;
    if (segment != nullptr) {
      const SymbolId var = first.index[segment->axis];
      nest.loops[segment->axis].extent = segment->length;
      map[var] = segment->begin + p.ctx.symbol_dim(var);  // in the output the segment starts at 0: first_of is added outside
      body = segment->body;
    }
    nest.scalars.push_back(flatten_loads(p.ctx, expr::substitute(body, map), list.shapes));
    nest.offsets.push_back(flat_offset(p.ctx, s->tensor->shape, index_of(p.ctx, first)));
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
loop::StmtPtr make_point(const Nest& nest, const Group& group, const expr::DimMap& at, std::optional<SymbolId> vector_var) {
  std::vector<loop::StmtPtr> stores;
  for (size_t k = 0; k < group.stages.size(); ++k)
    if (k < group.checks)
      stores.push_back(loop::make_check(expr::substitute(nest.scalars[k], at), static_cast<uint32_t>(k), {}));
    else
      stores.push_back(make_stage_store(group.stages[k]->tensor->id, expr::substitute(nest.offsets[k], at),
                                        expr::substitute(nest.scalars[k], at), vector_var));
  return loop::make_block(std::move(stores));
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
  if (!w.transposed && !merges_at_run_time(p.ctx, nest,
                                           lanes_of(p.ctx, p.target, nest.scalars,
                                                    nest.loops.empty() ? p.ctx.constant(1) : nest.loops.back().extent)))
    w.step = find_strided(p.ctx, w.flat);
  return w;
}

// The direct builder that takes the nest, by how its loads walk through memory; nothing where none does.
std::optional<GridOfBlocks> make_grid(const Problem& p, const StageList& list, const Nest& nest, const Group& group) {
  expr::Context& ctx = p.ctx;
  if (nest.loops.empty()) return GridOfBlocks{{}, make_point(nest, group, {}, std::nullopt), "point"};
  const int64_t lanes = lanes_of(ctx, p.target, nest.scalars, nest.loops.back().extent);
  const Walk walk = group.checks == 0 ? walk_of(p, list, nest, group.stages) : Walk();
  if (walk.transposed) return make_transposed(ctx, p.target, walk.flat, *walk.transposed);
  if (merges_at_run_time(ctx, nest, lanes)) {
    Runs runs = make_runs(ctx, nest, chunk_of(nest.scalars), lanes, tail_for(p.target, nest.scalars),
                          [&](const Nest& run, SymbolId var, Dim at) {
                            return make_point(run, group, {{var, at}}, lane_of(at, ctx.constant(0)));
                          });
    return GridOfBlocks{{runs.tasks}, runs.body, "runs"};
  }
  if (walk.step) return make_strided(ctx, p.target, walk.flat, *walk.step);
  if (group.checks > 0) return std::nullopt;
  return make_interleaved_rows(ctx, p.target, walk.flat, lanes, [&](const expr::DimMap& at, std::optional<SymbolId> lane) {
    return make_point(nest, group, at, lane);
  });
}

// The loops of the nest around what it stores and tests, scheduled.
Result<LoweredKernel> schedule_nest(const Problem& p, const Nest& nest, const Group& group, loop::Function f,
                                    std::vector<KernelArg> args) {
  const std::vector<loop::Buffer> params = f.params;
  std::vector<loop::StmtPtr> body;
  for (size_t k = 0; k < group.stages.size(); ++k) {
    if (k < group.checks) {
      body.push_back(loop::make_check(nest.scalars[k], static_cast<uint32_t>(k), {}));
      continue;
    }
    const expr::TensorId id = group.stages[k]->tensor->id;
    loop::Buffer& out = *std::find_if(f.params.begin(), f.params.end(), [&](const loop::Buffer& b) { return b.id == id; });
    const auto at = set_axes(p.ctx, out, nest.loops, nest.offsets[k]);
    PLIANT_CHECK(at) << "an output of " << f.name << " is not written in even steps";
    body.push_back(loop::make_store(id, *at, nest.scalars[k]));
  }
  f.body = wrap_loops(nest.loops, loop::ForKind::Serial, loop::make_block(std::move(body)));
  Work work{std::move(f), {}, std::move(args)};
  for (const Loop& l : nest.loops) work.loops[l.var] = LoopRole::Spatial;
  LoweredKernel k = TRY(schedule_kernel(p, kMap, std::move(work)));
  k.function.params = params;  // a segment ends where its tensor does
  return k;
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
  loop::Function f = builder.finish(nullptr);
  LoweredKernel k;
  if (const auto grid = make_grid(p, list, nest, group)) {
    k = built_by(grid->builder);
    f.body = wrap_loops(grid->parallel, loop::ForKind::Parallel, grid->body);
    k.tasks = product_of(ctx, grid->parallel);
    k.function = std::move(f);
    k.args = signature.take_args();
  } else {
    k = TRY(schedule_nest(p, nest, group, std::move(f), signature.take_args()));
  }
  k.work = product_of(ctx, nest.loops) * cost;
  return k;
}

}  // namespace pliant::lower
