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
  Nest nest;               // scalars[0] is the body, scalars[1 + k] the value of outputs[k], stored at offsets[k]; then more
  size_t outer = 0;        // loops before it are the output's
  expr::TensorId acc = 0;  // stands for the result in the values
  std::vector<te::Tensor> outputs{};
  // The output's loops, and the reduction's.
  std::vector<Loop> loops() const { return {nest.loops.begin(), nest.loops.begin() + static_cast<long>(outer)}; }
  std::vector<Loop> reduce() const { return {nest.loops.begin() + static_cast<long>(outer), nest.loops.end()}; }
  // The index of each output's store, over the output's loops.
  using Places = std::vector<std::vector<Dim>>;
  Places flat_places() const {
    Places out;
    for (size_t k = 0; k < outputs.size(); ++k) out.push_back({nest.offsets[k]});
    return out;
  }
  // Gives the outputs among `params` an axis a loop; nothing, and no change, where one is not written in even steps.
  std::optional<Places> set_output_axes(expr::Context& ctx, std::vector<loop::Buffer>& params) const {
    std::vector<loop::Buffer> now = params;
    Places out;
    for (size_t k = 0; k < outputs.size(); ++k)
      for (loop::Buffer& b : now) {
        if (b.id != outputs[k]->id) continue;
        const auto at = set_axes(ctx, b, loops(), nest.offsets[k]);
        if (!at) return std::nullopt;
        out.push_back(*at);
      }
    params = std::move(now);
    return out;
  }
  // The stores of one output position, whose result is `total`.
  loop::StmtPtr make_stores(const te::TensorDef& t, const Places& places, const expr::DimMap& at, Scalar total) const {
    std::vector<loop::StmtPtr> stores;
    for (size_t k = 0; k < outputs.size(); ++k) {
      Scalar value =
          expr::substitute(nest.scalars[k + 1], at, [&](Scalar l) { return l->tensor == acc ? finish_value(t, total) : l; });
      std::vector<Dim> index = places[k];
      for (Dim& d : index) d = expr::substitute(d, at);
      stores.push_back(loop::make_store(outputs[k]->id, index, value));
    }
    return loop::make_block(std::move(stores));
  }
};

// `more`: further scalars over the output's index.
ReduceNest make_nest(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                     const std::vector<Scalar>& more = {}) {
  const te::TensorDef& t = *s.tensor;
  ReduceNest out;
  out.acc = p.ctx.fresh_tensor();
  out.outputs = e.outputs;
  for (size_t i = 0; i < t.index.size(); ++i) out.nest.loops.push_back({t.index[i], t.shape[i]});
  out.nest.scalars = {flatten_loads(p.ctx, s.body, list.shapes)};
  for (size_t k = 0; k < e.values.size(); ++k) {
    out.nest.scalars.push_back(flat_epilogue(p.ctx, e.values[k], t, out.acc, list.shapes));
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
  bool constant = false;
  for (size_t i = 0; i < p.inputs.size(); ++i)
    constant = constant || (p.inputs[i] && p.inputs[i]->id == load->tensor && p.constants[i]);
  bool known = constant && col.extent.is_const();
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
    if (movable(l))
      score += 1;
    else if (stride && stride->is_const(1))
      score += 1;
    else if (!stride || !stride->is_const() || std::abs(stride->const_value()) > kShortStride)
      score -= 2;
  }
  return score;
}

// Constant operands that jump along the vector loop are laid out so that they run along it: [reduction][column]. Gives the
// new body.
Result<Scalar> repack_constants(const Problem& p, Signature& signature, Scalar body, Loop col,
                                const std::vector<Loop>& reduce) {
  expr::Context& ctx = p.ctx;
  Dim k = ctx.constant(0);
  for (const Loop& l : reduce) k = k * l.extent + ctx.symbol_dim(l.var);
  std::map<const expr::ScalarNode*, Scalar> moved;
  for (Scalar l : expr::loads_of(body)) {
    auto stride = stride_in(ctx, l->index[0], col.var);
    if (!can_repack(p, l, col, reduce) || (stride && (stride->is_const(0) || stride->is_const(1)))) continue;
    int64_t columns = col.extent.const_value();
    graph::ConstantPtr packed = TRY(pack_constant(p, l, {}, col, reduce, columns));
    expr::TensorId id = ctx.fresh_tensor();
    signature.add_constant(id, "packed", packed);
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

// The innermost two axes of an output as one task computes them. Long columns, and long rows of them, are divided.
struct Division {
  AxisRange col;
  std::optional<AxisRange> row;
  std::vector<Loop> parallel;  // the loops over tasks
};
Division divide(expr::Context& ctx, std::vector<Loop> outer, bool by_rows, int64_t rows) {
  Division d;
  std::vector<Loop> chunks;
  auto range_of = [&](const Loop& l, int64_t size) {
    AxisRange r{l.var, ctx.constant(0), l.extent, l.extent};
    auto upper = const_upper(ctx, l.extent);
    if (upper && *upper <= 2 * size) return r;
    Dim n = ceildiv(l.extent, size), c = ctx.index_symbol("t", n);
    chunks.push_back({*c.as_symbol(), n});
    r.first = c * size;
    r.most = min(ctx.constant(size), l.extent);
    r.count = min(ctx.constant(size), l.extent - r.first);
    return r;
  };
  d.col = range_of(outer.back(), 1024);
  outer.pop_back();
  if (by_rows && !outer.empty()) {
    d.row = range_of(outer.back(), rows);
    outer.pop_back();
  }
  d.parallel = std::move(outer);
  d.parallel.insert(d.parallel.end(), chunks.begin(), chunks.end());
  return d;
}

// One output after the other: a total that the terms update, then what `store` makes of it. Whole vectors of columns may be
// computed where they are read from a halo tile of `lanes`.
loop::StmtPtr make_outputs(expr::Context& ctx, const te::TensorDef& t, Scalar body, const std::vector<Loop>& reduce,
                           const Division& d, std::optional<int64_t> lanes,
                           const std::function<loop::StmtPtr(const expr::DimMap&, Scalar)>& store) {
  const Dim columns = lanes ? ceildiv(d.col.count, *lanes) * *lanes : d.col.count, c = ctx.index_symbol("j", columns);
  expr::DimMap at{{d.col.var, d.col.first + c}};
  Dim r;
  if (d.row) {
    r = ctx.index_symbol("i", d.row->count);
    at[d.row->var] = d.row->first + r;
  }
  const Guarded g = split_guard(ctx, expr::substitute(body, at), t.combiner, t.accumulate);
  const loop::Buffer total = make_local(ctx, "total", t.accumulate, 1);
  const std::vector<Dim> zero{ctx.constant(0)};
  loop::StmtPtr add = loop::make_store(total.id, zero, expr::make_cast(t.accumulate, g.body), store_kind_of(t.combiner));
  if (g.guard) add = loop::make_if(g.guard, add);
  loop::StmtPtr put = store(at, expr::make_load(ctx, total.id, t.accumulate, zero));
  if (columns != d.col.count) put = loop::make_if(expr::less(c, d.col.count), put);
  loop::StmtPtr s = loop::make_block({loop::make_store(total.id, zero, identity_of(ctx, t.combiner, t.accumulate)),
                                      wrap_loops(reduce, loop::ForKind::Serial, add), put});
  s = loop::make_alloc(total, s);
  s = loop::make_for(*c.as_symbol(), columns, loop::ForKind::Serial, s);
  return d.row ? loop::make_for(*r.as_symbol(), d.row->count, loop::ForKind::Serial, s) : s;
}

constexpr int64_t kRowsOfTask = 64;
// The rows that the halo tile of a task serves: few enough to stay in the L1 cache, many against those that two halo
// tiles share.
constexpr int64_t kRowsOfHaloTile = 16, kRowsOfHighHaloTile = 64, kHighWindow = 8;

// A reduction whose windows slide along the vector loop, over a halo tile: every tap is then inside, and no load is masked.
struct SlidingPlan {
  Division division;
  HaloTile halo_tile;
  ReduceNest nest;
};
std::optional<SlidingPlan> plan_sliding(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                                        const std::vector<Loop>& outer, int64_t lanes) {
  expr::Context& ctx = p.ctx;
  if (!slides_along(s, outer.back().var)) return std::nullopt;
  bool by_rows = outer.size() > 1 && slides_along(s, outer[outer.size() - 2].var), high = false;
  for (Dim d : s.tensor->reduce_extent) high = high || !d.is_const() || d.const_value() > kHighWindow;
  Division d = divide(ctx, outer, by_rows, high ? kRowsOfHighHaloTile : kRowsOfHaloTile);
  AxisRange col = d.col;
  col.count = ceildiv(col.count, lanes) * lanes;
  col.most = ceildiv(col.most, lanes) * lanes;
  auto halo_tile = make_halo_tile(p, list, s, col, d.row, lanes);
  if (!halo_tile) return std::nullopt;
  StageList local = list;
  local.shapes[halo_tile->buffer.id] = halo_tile->buffer.shape;
  Stage moved = s;
  moved.body = halo_tile->body;
  std::vector<Scalar> more{halo_tile->source};
  if (halo_tile->inside) more.push_back(halo_tile->inside);
  ReduceNest n = make_nest(p, local, moved, e, more);
  // The outer loops have merged again, into other variables; rows and columns must still be themselves.
  const size_t inner = d.row ? 2 : 1;
  if (n.outer < inner || n.nest.loops[n.outer - 1].var != col.var || (d.row && n.nest.loops[n.outer - 2].var != d.row->var))
    return std::nullopt;
  d.parallel.erase(d.parallel.begin(), d.parallel.begin() + static_cast<long>(outer.size() - inner));
  d.parallel.insert(d.parallel.begin(), n.nest.loops.begin(), n.nest.loops.begin() + static_cast<long>(n.outer - inner));
  for (Scalar l : expr::loads_of(n.nest.scalars[0]))  // loaded for lanes beyond the last column too
    if (l->tensor != halo_tile->buffer.id && expr::uses_symbol(l->index[0], col.var)) return std::nullopt;
  size_t first = 1 + e.values.size();
  halo_tile->source = n.nest.scalars[first];
  if (halo_tile->inside) halo_tile->inside = n.nest.scalars[first + 1];
  return SlidingPlan{std::move(d), std::move(*halo_tile), std::move(n)};
}

}  // namespace

Result<LoweredKernel> lower_reduce(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                                   const Temporaries& temporaries) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  ReduceNest n = make_nest(p, list, s, e);
  const std::string name = p.name + "_" + t.name;
  if (is_arg(t.combiner) || !runs_along_output(p, n, t, is_short_window(ctx, s))) {
    Work naive = make_work(p, list, s, e, temporaries, name);
    naive.function.body = loop::without_unit_loops(naive.function.body, ctx);
    LoweredKernel k = TRY(schedule_kernel(p, kRows, std::move(naive)));
    k.work = element_count(ctx, t.shape) * product(ctx, t.reduce_extent) * (cost_of(s.body) + 1);
    return k;
  }
  KernelBuilder builder(ctx, name, p.loc);
  Signature signature(p, list, builder, temporaries);
  const std::vector<Loop> outer = n.loops();
  Scalar summand = split_guard(ctx, n.nest.scalars[0], t.combiner, t.accumulate).body;
  int64_t lanes = lanes_for(p.target, {summand, expr::make_const(ctx, t.accumulate, 0)});
  const std::optional<SlidingPlan> sliding = plan_sliding(p, list, s, e, outer, lanes);
  if (sliding) n = sliding->nest;
  const std::vector<Loop> reduce = n.reduce();
  const Scalar body = n.nest.scalars[0] = TRY(repack_constants(p, signature, n.nest.scalars[0], outer.back(), reduce));
  std::set<expr::TensorId> own{n.acc};
  if (sliding) own.insert(sliding->halo_tile.buffer.id);
  for (const te::Tensor& o : e.outputs) own.insert(o->id);
  for (Scalar x : n.nest.scalars) signature.add_reads(x, own);
  for (const te::Tensor& o : e.outputs) signature.add_write(o);
  Work work{builder.finish(nullptr), {}, signature.take_args()};
  const std::vector<loop::Buffer> params = work.function.params;
  const auto axes = n.set_output_axes(ctx, work.function.params);
  const ReduceNest::Places places = axes ? *axes : n.flat_places();
  const Division d = sliding ? sliding->division : divide(ctx, outer, axes.has_value(), kRowsOfTask);
  loop::StmtPtr stmt =
      make_outputs(ctx, t, body, reduce, d, sliding ? std::optional(lanes) : std::nullopt,
                   [&](const expr::DimMap& at, Scalar total) { return n.make_stores(t, places, at, total); });
  if (sliding)
    stmt = loop::make_alloc(sliding->halo_tile.buffer,
                            loop::make_block({fill_halo_tile(ctx, sliding->halo_tile, lanes), stmt}));
  work.function.body = wrap_loops(d.parallel, loop::ForKind::Parallel, stmt);
  loop::for_each(work.function.body, [&](const loop::Stmt& x) {
    if (x.kind == loop::StmtKind::For) work.loops[x.var] = LoopRole::Spatial;
  });
  const LoopRole role = slides_along(s, outer.back().var) ? LoopRole::Sliding : LoopRole::Reduction;
  for (const Loop& l : reduce) work.loops[l.var] = role;
  LoweredKernel k = TRY(schedule_kernel(p, kWindow, std::move(work)));
  k.function.params = params;
  k.work = product_of(ctx, n.nest.loops) * (cost_of(body) + 1);
  return k;
}

}  // namespace pliant::lower
