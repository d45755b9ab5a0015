// Rows: every stage works on one position of the leading axes (a row of softmax, of layer norm, of a mean), so the whole
// chain of reductions and maps is one kernel over rows, with what passes between its stages in registers or in a row-sized
// scratch buffer.
#include "lower/reduction/row.h"

#include <algorithm>

#include "lower/reduction/halo_tile.h"
#include "lower/stage_kernels.h"
#include "te/analysis.h"

namespace pliant::lower {

namespace {

using te::Kind;
using te::trimmed_rank;

// The number of leading axes that stand for rows, or nothing when the stages do not work by rows.
std::optional<size_t> row_rank(const StageList& list) {
  std::optional<size_t> rank;
  for (const Stage& s : list.stages)
    if (s.tensor->kind == Kind::Reduce) rank = std::max(rank.value_or(0), trimmed_rank(s.tensor->shape));
  return rank;
}

bool has_prefix(const std::vector<Dim>& shape, const std::vector<Dim>& prefix) {
  return shape.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), shape.begin());
}

// Loads of other stages must stay in the row.
bool reads_own_row(const Stage& s, const std::map<expr::TensorId, const Stage*>& stages, size_t rank, expr::Context& ctx) {
  for (Scalar l : expr::loads_of(s.body)) {
    if (!stages.count(l->tensor)) continue;
    for (size_t i = 0; i < rank; ++i)
      if (!(l->index[i] == ctx.symbol_dim(s.tensor->index[i]))) return false;
  }
  return true;
}

}  // namespace

bool works_by_rows(const Problem& p, const StageList& list) {
  if (list.stages.size() == 1 && is_arg(list.stages[0].tensor->combiner)) return false;  // short rows go side by side there
  auto rank = row_rank(list);
  if (!rank) return false;
  std::vector<Dim> prefix;
  for (const Stage& s : list.stages)
    if (s.tensor->kind == Kind::Reduce && trimmed_rank(s.tensor->shape) == *rank)
      prefix.assign(s.tensor->shape.begin(), s.tensor->shape.begin() + static_cast<long>(*rank));
  std::map<expr::TensorId, const Stage*> stages;
  for (const Stage& s : list.stages) stages[s.tensor->id] = &s;
  for (const Stage& s : list.stages) {
    if (s.tensor->kind != Kind::Map && s.tensor->kind != Kind::Reduce) return false;
    if (!has_prefix(s.tensor->shape, prefix) || !reads_own_row(s, stages, *rank, p.ctx)) return false;
    if (s.tensor->kind != Kind::Reduce) continue;
    if (trimmed_rank(s.tensor->shape) != *rank || s.tensor->reduce_index.empty()) return false;
    if (is_short_window(p.ctx, s)) return false;
    // Along a row the reduction must run over memory, not across it.
    Scalar flat = flatten_loads(p.ctx, s.body, list.shapes);
    for (Scalar l : expr::loads_of(flat)) {
      auto stride = stride_in(p.ctx, l->index[0], s.tensor->reduce_index.back());
      if (!stride || !(stride->is_const(0) || stride->is_const(1))) return false;
    }
  }
  return true;
}

namespace {

struct RowLowering {
  const Problem& p;
  const StageList& list;
  expr::Context& ctx = p.ctx;
  size_t rank = 0;
  std::vector<Loop> rows;                    // merged
  std::vector<SymbolId> row_vars;            // of the first stage, before merging
  std::set<expr::TensorId> inner_tensors{};  // scalars of a row and scratch rows
  std::vector<loop::Buffer> locals{}, scratch{};
  ShapeTable shapes{};  // rows in scratch have the shape that is left after the row axes
  std::vector<Loop> inner_loops(const Stage& s, bool reduce) const {
    std::vector<Loop> loops;
    const te::TensorDef& t = *s.tensor;
    if (reduce)
      for (size_t i = 0; i < t.reduce_index.size(); ++i) loops.push_back({t.reduce_index[i], t.reduce_extent[i]});
    else
      for (size_t i = rank; i < t.shape.size(); ++i) loops.push_back({t.index[i], t.shape[i]});
    return loops;
  }
  bool is_scalar(const Stage& s) const { return trimmed_rank(s.tensor->shape) <= rank; }
};

// Index of an inner tensor without its row axes.
Scalar localise(const RowLowering& r, Scalar body) {
  return expr::substitute(body, {}, [&](Scalar load) {
    if (!r.inner_tensors.count(load->tensor)) return load;
    std::vector<Dim> index(load->index.begin() + static_cast<long>(r.rank), load->index.end());
    return expr::make_load(r.ctx, load->tensor, load->dtype, index);
  });
}

Scalar flat_body(const RowLowering& r, const Stage& s) {
  expr::DimMap map;
  for (size_t i = 0; i < r.rank; ++i)
    if (s.tensor->index[i] != r.row_vars[i]) map[s.tensor->index[i]] = r.ctx.symbol_dim(r.row_vars[i]);
  if (r.is_scalar(s))  // what follows the row axes has size 1
    for (size_t i = r.rank; i < s.tensor->index.size(); ++i) map[s.tensor->index[i]] = r.ctx.constant(0);
  return flatten_loads(r.ctx, localise(r, expr::substitute(s.body, map)), r.shapes);
}

Dim output_offset(const RowLowering& r, const Stage& s) {
  std::vector<Dim> index;
  for (size_t i = 0; i < s.tensor->shape.size(); ++i) {
    Dim own = r.is_scalar(s) ? r.ctx.constant(0) : r.ctx.symbol_dim(s.tensor->index[i]);
    index.push_back(i < r.rank ? r.ctx.symbol_dim(r.row_vars[i]) : own);
  }
  return flat_offset(r.ctx, s.tensor->shape, index);
}

// What one stage is once every stage's row loops are merged alike.
struct FlatStage {
  const Stage* stage;
  Nest inner;  // loops inside the row; scalars[0] the body; offsets[0] the output's, if it is one
};

// Merges the row loops under the offsets of all stages together, then each stage's own loops.
std::vector<FlatStage> flatten_stages(RowLowering& r) {
  Nest all;
  all.loops = r.rows;
  std::vector<FlatStage> flats;
  for (const Stage& s : r.list.stages) {
    flats.push_back({&s, {}});
    all.scalars.push_back(flat_body(r, s));
    all.offsets.push_back(s.is_output ? output_offset(r, s) : r.ctx.constant(0));
  }
  collapse(r.ctx, all);
  r.rows = all.loops;
  for (size_t i = 0; i < flats.size(); ++i) {
    Nest& n = flats[i].inner;
    n.loops = r.inner_loops(*flats[i].stage, flats[i].stage->tensor->kind == Kind::Reduce);
    n.scalars = {all.scalars[i]};
    n.offsets = {all.offsets[i]};
    bool scratch_row =
        !flats[i].stage->is_output && r.inner_tensors.count(flats[i].stage->tensor->id) && !r.is_scalar(*flats[i].stage);
    if (scratch_row) {
      std::vector<Dim> index, shape;
      for (const Loop& l : n.loops) {
        index.push_back(r.ctx.symbol_dim(l.var));
        shape.push_back(l.extent);
      }
      n.offsets = {flat_offset(r.ctx, shape, index)};
    }
    if (!is_arg(flats[i].stage->tensor->combiner) || flats[i].stage->tensor->kind != Kind::Reduce) collapse(r.ctx, n);
  }
  return flats;
}

void declare_inner_tensors(RowLowering& r) {
  for (const Stage& s : r.list.stages) {
    const te::TensorDef& t = *s.tensor;
    if (s.is_output && !r.is_scalar(s)) continue;
    r.inner_tensors.insert(t.id);
    std::vector<Dim> shape(t.shape.begin() + static_cast<long>(r.rank), t.shape.end());
    r.shapes[t.id] = shape;
    loop::Buffer b;
    b.id = t.id;
    b.name = t.name;
    b.dtype = t.dtype;
    b.shape = {r.is_scalar(s) ? r.ctx.constant(1) : element_count(r.ctx, shape)};
    b.scope = r.is_scalar(s) ? loop::Scope::Local : loop::Scope::Scratch;
    (r.is_scalar(s) ? r.locals : r.scratch).push_back(std::move(b));
  }
}

// The statements of one stage in a row. `stored`: where an output that is one element a row goes.
loop::StmtPtr make_stage(const RowLowering& r, const FlatStage& f, std::optional<loop::BufferId> stored) {
  expr::Context& ctx = r.ctx;
  const Stage& s = *f.stage;
  const te::TensorDef& t = *s.tensor;
  const Scalar body = f.inner.scalars[0];
  if (r.is_scalar(s)) {
    const Dim zero = ctx.constant(0);
    auto finish = [&](Scalar v) {
      std::vector<loop::StmtPtr> out{loop::make_store(t.id, {zero}, v)};
      if (stored)
        out.push_back(loop::make_store(*stored, {f.inner.offsets[0]}, expr::make_load(ctx, t.id, t.dtype, {zero})));
      return loop::make_block(std::move(out));
    };
    if (t.kind == Kind::Map) return finish(body);
    int64_t lanes = lanes_for(r.p.target, {body, expr::make_const(ctx, t.accumulate, 0)});
    Reduction red{t.combiner,
                  is_arg(t.combiner) ? body->dtype : t.accumulate,
                  body,
                  f.inner.loops,
                  true,
                  lanes,
                  r.p.target.vector_registers};
    return make_reduction(ctx, red, [&](Scalar v) { return finish(finish_value(t, v)); });
  }
  std::vector<Loop> outer = f.inner.loops;
  PLIANT_CHECK(!outer.empty()) << "a row stage without loops";
  Loop inner = outer.back();
  outer.pop_back();
  loop::StmtPtr st = make_vector_loop(ctx, inner.extent, lanes_for(r.p.target, {body}), [&](Dim v) {
    expr::DimMap at{{inner.var, v}};
    return loop::make_store(t.id, {expr::substitute(f.inner.offsets[0], at)}, expr::substitute(body, at));
  });
  return wrap_loops(outer, loop::ForKind::Serial, st);
}

}  // namespace

Result<LoweredNode> lower_rows(const Problem& p, const StageList& list) {
  expr::Context& ctx = p.ctx;
  RowLowering r{p, list};
  r.rank = *row_rank(list);
  r.shapes = list.shapes;
  const te::TensorDef& first = *list.stages[0].tensor;
  for (size_t i = 0; i < r.rank; ++i) {
    r.rows.push_back({first.index[i], first.shape[i]});
    r.row_vars.push_back(first.index[i]);
  }
  declare_inner_tensors(r);
  std::vector<FlatStage> flats = flatten_stages(r);
  KernelBuilder builder(ctx, p.name, p.loc);
  Temporaries none;
  Signature signature(p, list, builder, none);
  Dim work = ctx.constant(0);
  std::set<expr::TensorId> own = r.inner_tensors;
  for (const Stage& s : list.stages) own.insert(s.tensor->id);
  for (const FlatStage& f : flats) {
    signature.add_reads(f.inner.scalars[0], own);
    work = work + product_of(ctx, f.inner.loops) * (cost_of(f.inner.scalars[0]) + 1);
  }
  std::map<expr::TensorId, loop::BufferId> stored;
  for (const Stage& s : list.stages) {
    if (!s.is_output) continue;
    if (!r.is_scalar(s)) {
      signature.add_write(s.tensor);
      continue;
    }
    // Registers keep the tensor's id; memory gets a new one.
    signature.add_write_as(s.tensor, stored[s.tensor->id] = ctx.fresh_tensor());
  }
  std::vector<loop::StmtPtr> seq;
  for (const FlatStage& f : flats) {
    const auto at = stored.find(f.stage->tensor->id);
    seq.push_back(make_stage(r, f, at == stored.end() ? std::nullopt : std::optional(at->second)));
  }
  loop::StmtPtr row = loop::make_block(std::move(seq));
  for (const loop::Buffer& b : r.locals) row = loop::make_alloc(b, row);
  for (const loop::Buffer& b : r.scratch) row = loop::make_alloc(b, row);
  LoweredKernel k;
  k.tasks = product_of(ctx, r.rows);
  k.work = k.tasks * work;
  k.function = builder.finish(wrap_loops(r.rows, loop::ForKind::Parallel, row));
  k.args = signature.take_args();
  LoweredNode out;
  out.kernels.push_back(std::move(k));
  return out;
}

}  // namespace pliant::lower
