#include "lower/reduction/row.h"

#include <algorithm>

#include "loop/pass/flatten.h"
#include "loop/walk.h"
#include "lower/reduction/halo_tile.h"
#include "lower/templates/template.h"
#include "te/analysis.h"

namespace pliant::lower {

namespace {

using te::Kind;
using te::trimmed_rank;

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

std::optional<size_t> find_rows(const Problem& p, const StageList& list) {
  if (list.stages.size() == 1 && is_arg(list.stages[0].tensor->combiner))
    return std::nullopt;  // short rows go side by side there
  // The most leading axes that a reduction leaves stand for rows.
  std::optional<size_t> rank;
  std::vector<Dim> prefix;
  for (const Stage& s : list.stages) {
    if (s.tensor->kind != Kind::Reduce || trimmed_rank(s.tensor->shape) < rank.value_or(0)) continue;
    rank = trimmed_rank(s.tensor->shape);
    prefix.assign(s.tensor->shape.begin(), s.tensor->shape.begin() + static_cast<long>(*rank));
  }
  if (!rank) return std::nullopt;
  std::map<expr::TensorId, const Stage*> stages;
  for (const Stage& s : list.stages) stages[s.tensor->id] = &s;
  for (const Stage& s : list.stages) {
    if (s.tensor->kind != Kind::Map && s.tensor->kind != Kind::Reduce) return std::nullopt;
    if (!has_prefix(s.tensor->shape, prefix) || !reads_own_row(s, stages, *rank, p.ctx)) return std::nullopt;
    if (s.tensor->kind != Kind::Reduce) continue;
    if (trimmed_rank(s.tensor->shape) != *rank || s.tensor->reduce_index.empty()) return std::nullopt;
    if (is_short_window(p.ctx, s)) return std::nullopt;
    // Along a row the reduction must run over memory, not across it.
    Scalar flat = flatten_loads(p.ctx, s.body, list.shapes);
    for (Scalar l : expr::loads_of(flat)) {
      auto stride = stride_in(p.ctx, l->index[0], s.tensor->reduce_index.back());
      if (!stride || !(stride->is_const(0) || stride->is_const(1))) return std::nullopt;
    }
  }
  return rank;
}

Result<LoweredNode> lower_rows(const Problem& p, const StageList& list, size_t rank) {
  expr::Context& ctx = p.ctx;
  std::vector<const Stage*> stages;
  Dim work = ctx.constant(0);
  for (const Stage& s : list.stages) {
    stages.push_back(&s);
    const te::TensorDef& t = *s.tensor;
    const std::vector<Dim> row(t.shape.begin() + static_cast<std::ptrdiff_t>(rank), t.shape.end());
    work = work + product(ctx, t.kind == Kind::Reduce ? t.reduce_extent : row) * (cost_of(s.body) + 1);
  }
  Work naive = make_work(p, list, stages, {}, p.name);
  naive.function.body = loop::without_unit_loops(naive.function.body, ctx);
  LoweredKernel k = TRY(schedule_kernel(p, kRows, std::move(naive)));
  k.work = k.tasks * work;
  LoweredNode out;
  out.kernels.push_back(std::move(k));
  return out;
}

}  // namespace pliant::lower
