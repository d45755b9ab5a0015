// Reductions as kernels of their own.
#include <algorithm>

#include "loop/pass/flatten.h"
#include "loop/walk.h"
#include "lower/contraction/contraction.h"
#include "lower/epilogue.h"
#include "lower/reduction/halo_tile.h"
#include "lower/templates/template.h"
#include "schedule/guard.h"

namespace pliant::lower {

namespace {

// The stage's loops: outputs first, then the reduction's, each part merged by itself.
struct ReduceNest {
  Nest nest;         // scalars[0] is the body, scalars[1 + k] the value of outputs[k], stored at offsets[k]; then more
  size_t outer = 0;  // loops before it are the output's
  // The output's loops, and the reduction's.
  std::vector<Loop> loops() const { return {nest.loops.begin(), nest.loops.begin() + static_cast<long>(outer)}; }
  std::vector<Loop> reduce() const { return {nest.loops.begin() + static_cast<long>(outer), nest.loops.end()}; }
  // As a stage over these loops with what follows from it. Output k gets the shape and strides of axes[k]: an axis a loop.
  Recast recast(expr::Context& ctx, const Stage& s, const Epilogue& e, std::vector<loop::Buffer>& axes) const {
    auto t = std::make_shared<te::TensorDef>(*s.tensor);
    t->index.clear(), t->shape.clear(), t->reduce_index.clear(), t->reduce_extent.clear();
    for (const Loop& l : loops()) t->index.push_back(l.var), t->shape.push_back(l.extent);
    for (const Loop& l : reduce()) t->reduce_index.push_back(l.var), t->reduce_extent.push_back(l.extent);
    Recast out{{t, nest.scalars[0], {}, {}, s.is_output}, {{}, {}, e.outputs}};
    for (size_t k = 0; k < e.outputs.size(); ++k) {
      const auto at = set_axes(ctx, axes[k], loops(), nest.offsets[k]);
      PLIANT_CHECK(at) << e.outputs[k]->name << " is not written in even steps";
      out.epilogue.values.push_back(nest.scalars[k + 1]);
      out.epilogue.index.push_back(*at);
    }
    return out;
  }
};

// `more`: further scalars over the output's index.
ReduceNest make_nest(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                     const std::vector<Scalar>& more = {}) {
  const te::TensorDef& t = *s.tensor;
  ReduceNest out;
  for (size_t i = 0; i < t.index.size(); ++i) out.nest.loops.push_back({t.index[i], t.shape[i]});
  out.nest.scalars = {flatten_loads(p.ctx, s.body, list.shapes)};
  for (size_t k = 0; k < e.values.size(); ++k) {
    out.nest.scalars.push_back(flat_epilogue(p.ctx, e.values[k], t, t.id, list.shapes));
    out.nest.offsets.push_back(flat_offset(p.ctx, e.outputs[k]->shape, e.index[k]));
  }
  for (Scalar x : more) out.nest.scalars.push_back(flatten_loads(p.ctx, x, list.shapes));
  collapse(p.ctx, out.nest);
  out.outer = out.nest.loops.size();
  for (size_t i = 0; i < t.reduce_index.size(); ++i) out.nest.loops.push_back({t.reduce_index[i], t.reduce_extent[i]});
  collapse(p.ctx, out.nest, out.outer);
  return out;
}

// Whether a load of a constant could be laid out anew: it depends on the column and the reduction only, all of known size.
bool can_repack(const Problem& p, Scalar load, const Loop& col, const std::vector<Loop>& reduce) {
  bool known = constant_of(p, load->tensor) && col.extent.is_const();
  std::set<SymbolId> vars{col.var};
  for (const Loop& l : reduce) {
    known = known && l.extent.is_const();
    vars.insert(l.var);
  }
  for (SymbolId s : expr::symbols_of(load->index[0])) known = known && vars.count(s);
  return known;
}

constexpr int64_t kShortStride = 4;

// How many of the loads run contiguously, or stay put, along `var`, against those that jump (by a few elements: whole
// vectors are loaded and sorted). `movable` loads can be made to run.
int64_t contiguity(expr::Context& ctx, Scalar body, SymbolId var, const std::function<bool(Scalar)>& movable) {
  int64_t score = 0;
  for (Scalar l : expr::loads_of(body)) {
    auto stride = stride_in(ctx, l->index[0], var);
    if (movable(l) || (stride && stride->is_const(1)))
      score += 1;
    else if (!stride || !stride->is_const() || std::abs(stride->const_value()) > kShortStride)
      score -= 2;
  }
  return score;
}

// Constant operands that jump along the vector loop are laid out so that they run along it: [reduction][column]. Gives the
// new body.
Result<Scalar> repack_constants(const Problem& p, MergedForm& form, Scalar body, Loop col, const std::vector<Loop>& reduce) {
  expr::Context& ctx = p.ctx;
  Dim k = ctx.constant(0);
  for (const Loop& l : reduce) k = k * l.extent + ctx.symbol_dim(l.var);
  std::map<const expr::ScalarNode*, Scalar> moved;
  for (Scalar l : expr::loads_of(body)) {
    auto stride = stride_in(ctx, l->index[0], col.var);
    if (!can_repack(p, l, col, reduce) || (stride && (stride->is_const(0) || stride->is_const(1)))) continue;
    int64_t columns = col.extent.const_value();
    expr::TensorId id = ctx.fresh_tensor();
    form.packed.emplace_back(id, TRY(pack_constant(p, l, {}, col, reduce, columns)));
    moved[l.node()] = expr::make_load(ctx, id, l->dtype, {k * columns + ctx.symbol_dim(col.var)});
  }
  if (moved.empty()) return body;
  return expr::substitute(body, {}, [&](Scalar l) {
    auto it = moved.find(l.node());
    return it == moved.end() ? l : it->second;
  });
}

// Whether the elements that are read one after another lie nearer to each other along `a` than along `b`, where every symbol
// is some usual size: what no cache keeps, a processor fetches ahead along short strides only.
bool is_nearer(expr::Context& ctx, Scalar body, SymbolId a, SymbolId b) {
  static constexpr int64_t kUsualSize = 64;
  auto distance = [&](Scalar load, SymbolId var) -> std::optional<int64_t> {
    const auto stride = stride_in(ctx, load->index[0], var);
    if (!stride) return std::nullopt;
    return expr::evaluate(*stride, [](SymbolId) -> std::optional<int64_t> { return kUsualSize; });
  };
  double along_a = 0, along_b = 0;
  for (Scalar l : expr::loads_of(body)) {
    const auto in_a = distance(l, a), in_b = distance(l, b);
    if (!in_a || !in_b) return false;
    along_a += std::abs(static_cast<double>(*in_a)), along_b += std::abs(static_cast<double>(*in_b));
  }
  return along_a < along_b;
}

// The slack of each term of the guard that bounds one of the reduction's loops alone, at whatever the variables of the
// others are: what the guards leave of such a loop is a range.
std::vector<Dim> ranges_of(expr::Context& ctx, const te::TensorDef& t, Scalar body, const std::vector<Loop>& reduce) {
  const Guarded g = split_guard(ctx, body, t.combiner, t.accumulate);
  std::vector<Dim> out;
  if (!g.guard) return out;
  for (Scalar term : expr::conjuncts_of(g.guard)) {
    const auto slack = schedule::slack_of(term);
    const auto uses = [&](const Loop& l) { return expr::uses_symbol(term, l.var); };
    const auto loop = std::find_if(reduce.begin(), reduce.end(), uses);
    if (!slack || loop == reduce.end() || std::count_if(reduce.begin(), reduce.end(), uses) != 1) continue;
    const auto step = expr::coefficient_of(*slack, loop->var);
    if (step && step->is_const()) out.push_back(*slack);
  }
  return out;
}

// Whether lanes are positions of the output's innermost axis rather than of the reduction's.
bool runs_along_output(const Problem& p, const ReduceNest& n, const te::TensorDef& t, bool slides) {
  expr::Context& ctx = p.ctx;
  if (n.outer == 0) return false;
  const std::vector<Loop> reduce = n.reduce();
  const Loop& col = n.nest.loops[n.outer - 1];
  Scalar body = n.nest.scalars[0];
  int64_t by_output = contiguity(ctx, body, col.var, [&](Scalar l) { return can_repack(p, l, col, reduce); });
  if (reduce.empty()) return true;
  // Ranges that follow no line along the columns: those that the run reads.
  for (Dim slack : ranges_of(ctx, t, body, reduce))
    if (!stride_in(ctx, slack, col.var)) return false;
  // A short reduction, such as a window, fills no vector.
  auto upper = const_upper(ctx, reduce.back().extent);
  if (upper && *upper <= (slides ? kShortWindow : kShortReduction) && by_output >= 0) return true;
  const int64_t by_reduction = contiguity(ctx, body, reduce.back().var, [](Scalar) { return false; });
  if (by_output == by_reduction && by_output < 0) return !is_nearer(ctx, body, reduce.back().var, col.var);
  return by_output >= by_reduction;
}

// The rows that the halo tile of a task serves: few enough to stay in the L1 cache, many against those that two halo
// tiles share.
constexpr int64_t kRowsOfHaloTile = 16, kRowsOfHighHaloTile = 64, kHighWindow = 8;

// A reduction whose windows slide along the vector loop, over a halo tile: every tap is then inside, and no load is masked.
struct SlidingPlan {
  int64_t rows;  // of a task; 0 where the windows do not slide along rows
  HaloTile halo_tile;
  ReduceNest nest;  // whole vectors of columns
  MergedForm form;
  std::vector<SymbolId> tasks;  // stand for the loops over parts of columns, and of rows
};
std::optional<SlidingPlan> plan_sliding(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                                        const std::vector<Loop>& outer, int64_t lanes) {
  expr::Context& ctx = p.ctx;
  if (!slides_along(s, outer.back().var)) return std::nullopt;
  SlidingPlan out{};
  bool high = false;
  for (Dim d : s.tensor->reduce_extent) high = high || !d.is_const() || d.const_value() > kHighWindow;
  if (outer.size() > 1 && slides_along(s, outer[outer.size() - 2].var))
    out.rows = high ? kRowsOfHighHaloTile : kRowsOfHaloTile;
  const auto range_of = [&](const Loop& l, int64_t size) {
    AxisRange r{l.var, ctx.constant(0), l.extent, l.extent};
    if (!has_parts(ctx, l.extent, size)) return r;
    const Dim n = ceildiv(l.extent, size), c = ctx.index_symbol("t", n);
    out.tasks.push_back(*c.as_symbol());
    r.first = c * size;
    r.most = min(ctx.constant(size), l.extent);
    r.count = min(ctx.constant(size), l.extent - r.first);
    return r;
  };
  const Dim columns = ceildiv(outer.back().extent, lanes) * lanes;
  const AxisRange col = range_of({outer.back().var, columns}, kColumnsOfTask);
  std::optional<AxisRange> row;
  if (out.rows > 0) row = range_of(outer[outer.size() - 2], out.rows);
  auto halo_tile = make_halo_tile(p, list, s, col, row, lanes);
  if (!halo_tile) return std::nullopt;
  StageList local = list;
  local.shapes[halo_tile->buffer.id] = halo_tile->buffer.shape;
  Stage moved = s;
  moved.body = halo_tile->body;
  out.form.reads = {halo_tile->source};
  if (halo_tile->inside) out.form.reads.push_back(halo_tile->inside);
  ReduceNest n = make_nest(p, local, moved, e, out.form.reads);
  // The outer loops have merged again, into other variables; rows and columns must still be themselves.
  if (n.outer < (row ? 2 : 1) || n.nest.loops[n.outer - 1].var != col.var ||
      (row && n.nest.loops[n.outer - 2].var != row->var))
    return std::nullopt;
  for (Scalar l : expr::loads_of(n.nest.scalars[0]))  // loaded for lanes beyond the last column too
    if (l->tensor != halo_tile->buffer.id && expr::uses_symbol(l->index[0], col.var)) return std::nullopt;
  halo_tile->source = n.nest.scalars[1 + e.values.size()];
  if (halo_tile->inside) halo_tile->inside = n.nest.scalars.back();
  const Dim j = ctx.index_symbol("j", columns);
  substitute(n.nest, {{col.var, j}});
  if (columns != outer.back().extent) out.form.stored = expr::less(j, outer.back().extent);
  n.nest.loops[n.outer - 1] = {*j.as_symbol(), columns};
  out.form.tile = halo_tile->buffer.id;
  out.halo_tile = std::move(*halo_tile);
  out.nest = std::move(n);
  return out;
}

// Divides the naive function into tasks, and gives each a halo tile.
Status add_halo_tile(expr::Context& ctx, const SlidingPlan& plan, int64_t lanes, Work& work) {
  schedule::Schedule s(work.function, ctx, schedule::Verify::Statements);
  TRY(divide_outputs(s, plan.rows));
  std::vector<loop::StmtPtr> tasks;
  loop::StmtPtr outputs = s.function().body;
  for (; outputs->for_kind == loop::ForKind::Parallel; outputs = outputs->body[0]) tasks.push_back(outputs);
  expr::DimMap parts;
  for (size_t k = plan.tasks.size(); k-- > 0; tasks.pop_back()) parts[plan.tasks[k]] = ctx.symbol_dim(tasks.back()->var);
  const loop::StmtPtr fill = fill_halo_tile(ctx, plan.halo_tile, lanes),
                      all = loop::make_alloc(plan.halo_tile.buffer, loop::make_block({fill, outputs}));
  loop::StmtPtr& body = work.function.body;
  body = loop::rewrite(s.function().body, [&](const loop::StmtPtr& x) { return x == outputs ? all : x; });
  body = loop::substitute(body, parts);
  loop::for_each(body, [&](const loop::Stmt& x) {
    if (x.kind == loop::StmtKind::For) work.loops.try_emplace(x.var, LoopRole::Spatial);
  });
  return ok();
}

}  // namespace

Result<LoweredKernel> lower_reduce(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                                   const Temporaries& temporaries) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  ReduceNest n = make_nest(p, list, s, e);
  const std::string name = p.name + "_" + t.name;
  const Dim terms = element_count(ctx, t.shape) * product(ctx, t.reduce_extent);
  if (is_arg(t.combiner) || !runs_along_output(p, n, t, is_short_window(ctx, s))) {
    Work naive = make_work(p, list, s, e, temporaries, name);
    naive.function.body = loop::without_unit_loops(naive.function.body, ctx);
    LoweredKernel k = TRY(schedule_kernel(p, kRows, std::move(naive)));
    k.work = terms * (cost_of(s.body) + 1);
    return k;
  }
  const std::vector<Loop> outer = n.loops();
  Scalar summand = split_guard(ctx, n.nest.scalars[0], t.combiner, t.accumulate).body;
  int64_t lanes = lanes_for(p.target, {summand, expr::make_const(ctx, t.accumulate, 0)});
  const std::optional<SlidingPlan> sliding = plan_sliding(p, list, s, e, outer, lanes);
  MergedForm form;
  if (sliding) n = sliding->nest, form = sliding->form;
  form.role = slides_along(s, outer.back().var) ? LoopRole::Sliding : LoopRole::Reduction;
  n.nest.scalars[0] = TRY(repack_constants(p, form, n.nest.scalars[0], outer.back(), n.reduce()));
  std::vector<loop::Buffer> axes(e.outputs.size());
  const Recast merged = n.recast(ctx, s, e, axes);
  Work work = make_work(p, list, merged.stage, merged.epilogue, temporaries, name, &form);
  const std::vector<loop::Buffer> params = work.function.params;
  for (loop::Buffer& b : work.function.params)
    for (size_t k = 0; k < axes.size(); ++k)
      if (b.id == e.outputs[k]->id) b.shape = axes[k].shape, b.strides = axes[k].strides;
  if (sliding) TRY(add_halo_tile(ctx, *sliding, lanes, work));
  LoweredKernel k = TRY(schedule_kernel(p, kWindow, std::move(work)));
  k.function.params = params;
  k.work = terms * (cost_of(n.nest.scalars[0]) + 1);
  return k;
}

}  // namespace pliant::lower
