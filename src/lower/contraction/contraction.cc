// From a stage that sums products to the factors and loops of a register-tiled kernel.
#include "lower/contraction/contraction.h"

#include <algorithm>

#include "lower/contraction/blocked.h"
#include "lower/contraction/gemm.h"
#include "lower/contraction/skinny_gemm.h"
#include "lower/epilogue.h"
#include "lower/reduction/halo_tile.h"
#include "lower/rewrites/groups.h"
#include "lower/rewrites/padding.h"
#include "lower/stage_kernels.h"
#include "lower/temporaries.h"

namespace pliant::lower {

namespace {

// The factor that varies along the output's contiguous axis is b.
std::optional<Factors> make_factors(const Problem& p, const te::TensorDef& t, Scalar body, const Epilogue& e,
                                    const ShapeTable& shapes) {
  expr::Context& ctx = p.ctx;
  const Scalar product = flatten_loads(ctx, body, shapes);
  if (product->kind != expr::ScalarKind::Binary || product->binary() != expr::BinaryOp::Mul || e.outputs.empty())
    return std::nullopt;
  Factors f;
  f.acc = ctx.fresh_tensor();
  Nest nest;
  for (size_t i = 0; i < t.index.size(); ++i) nest.loops.push_back({t.index[i], t.shape[i]});
  nest.scalars = product->args;
  for (size_t k = 0; k < e.values.size(); ++k) {
    nest.offsets.push_back(flat_offset(ctx, e.outputs[k]->shape, e.index[k]));
    nest.scalars.push_back(flat_epilogue(ctx, e.values[k], t, f.acc, shapes));
  }
  collapse(ctx, nest);
  const bool is_empty =
      std::any_of(nest.loops.begin(), nest.loops.end(), [](const Loop& l) { return l.extent.is_const(0); });
  if (nest.loops.empty() || is_empty) return std::nullopt;
  // The column loop: contiguous in the first output.
  size_t col = nest.loops.size();
  for (size_t i = nest.loops.size(); i-- > 0 && col == nest.loops.size();) {
    auto s = stride_in(ctx, nest.offsets[0], nest.loops[i].var);
    if (s && s->is_const(1)) col = i;
  }
  if (col == nest.loops.size()) return std::nullopt;
  bool in_x = expr::uses_symbol(nest.scalars[0], nest.loops[col].var);
  bool in_y = expr::uses_symbol(nest.scalars[1], nest.loops[col].var);
  if (in_x == in_y) return std::nullopt;
  f.a = in_x ? nest.scalars[1] : nest.scalars[0];
  f.b = in_x ? nest.scalars[0] : nest.scalars[1];
  f.col = nest.loops[col];
  size_t row = nest.loops.size();
  for (size_t i = nest.loops.size(); i-- > 0 && row == nest.loops.size();)
    if (i != col && expr::uses_symbol(f.a, nest.loops[i].var) && !expr::uses_symbol(f.b, nest.loops[i].var)) row = i;
  if (row < nest.loops.size()) {
    f.row = nest.loops[row];
  } else {
    Dim one = ctx.constant(1);
    f.row = {*ctx.index_symbol("m", one).as_symbol(), one};
  }
  for (size_t i = 0; i < nest.loops.size(); ++i)
    if (i != col && i != row) f.outer.push_back(nest.loops[i]);
  f.values.assign(nest.scalars.begin() + 2, nest.scalars.end());
  f.offsets = nest.offsets;
  for (size_t i = 0; i < t.reduce_index.size(); ++i) f.reduce.push_back({t.reduce_index[i], t.reduce_extent[i]});
  return f;
}

// Whether b is made of constants over loops of known sizes, so that it can be laid out when the model is compiled.
bool can_pack(const Problem& p, const Factors& f) {
  auto is_known = [&](const Loop& l) { return l.extent.is_const() || !expr::uses_symbol(f.b, l.var); };
  if (!f.col.extent.is_const() || !std::all_of(f.outer.begin(), f.outer.end(), is_known) ||
      std::any_of(f.reduce.begin(), f.reduce.end(), [](const Loop& l) { return !l.extent.is_const(); }))
    return false;
  return !expr::loads_of(f.b).empty() && reads_constants(p, f.b);
}

// Reduction loops in the order in which a is read most contiguously.
void order_reduction(expr::Context& ctx, Factors& f) {
  auto stride = [&](const Loop& l) -> int64_t {
    int64_t widest = 0;
    for (Scalar load : expr::loads_of(f.a)) {
      auto s = stride_in(ctx, load->index[0], l.var);
      if (!s || !s->is_const()) return INT64_MAX / 2;
      widest = std::max(widest, std::abs(s->const_value()));
    }
    return widest;
  };
  std::stable_sort(f.reduce.begin(), f.reduce.end(), [&](const Loop& x, const Loop& y) { return stride(x) > stride(y); });
}

bool is_plain_product(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e) {
  const te::TensorDef& t = *s.tensor;
  if (t.kind != te::Kind::Reduce || t.combiner != te::Combiner::Sum) return false;
  Guarded g = split_guard(p.ctx, s.body, t.combiner, t.accumulate);
  if (g.guard && !make_padded(p, s)) return false;
  auto factors = make_factors(p, t, g.body, e, list.shapes);
  return factors && !(factors->row.extent.is_const(1) && only_slides(s, t.index.back()));
}

// `list` with the sum that stands for a stage of it.
StageList with_sum(const StageList& list, const Recast& sum) {
  StageList out = list;
  out.add(sum.stage.tensor);
  return out;
}

// Whether the columns of the outputs run along the factor that is made at run time, which then is turned for every block of
// rows, while those of the sum itself run along the other one: a sum whose results are stored in another order of axes.
bool turns_for_outputs(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e) {
  auto factors = [&](const Epilogue& to) {
    const Guarded g = split_guard(p.ctx, s.body, s.tensor->combiner, s.tensor->accumulate);
    if (auto f = make_factors(p, *s.tensor, g.body, to, list.shapes)) return f;
    const auto groups = split_groups(p, s, to);
    return groups
               ? make_factors(p, *groups->stage.tensor, groups->stage.body, groups->epilogue, with_sum(list, *groups).shapes)
               : std::nullopt;
  };
  const auto stored = factors(e), own = factors(no_epilogue(p.ctx, s.tensor));
  if (!stored || !own || can_pack(p, *stored) || runs_of(p.ctx, *stored) == Runs::AlongColumns) return false;
  return can_pack(p, *own);
}

}  // namespace

bool is_product(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e) {
  if (is_plain_product(p, list, s, e)) return true;
  if (s.tensor->kind != te::Kind::Reduce || s.tensor->combiner != te::Combiner::Sum) return false;
  auto groups = split_groups(p, s, e);
  return groups && is_plain_product(p, with_sum(list, *groups), groups->stage, groups->epilogue);
}

void add_params(Signature& signature, const Factors& f, const std::vector<te::Tensor>& outputs) {
  std::set<expr::TensorId> own{f.acc};
  signature.add_reads(f.a, own);
  signature.add_reads(f.b, own);
  for (const te::Tensor& o : outputs) own.insert(o->id);
  for (Scalar v : f.values) signature.add_reads(v, own);
  for (const te::Tensor& o : outputs) signature.add_write(o);
}

loop::StmtPtr store_results(const te::TensorDef& sum, const std::vector<te::Tensor>& outputs, const Factors& f, Dim row,
                            Dim column, Scalar total) {
  const expr::DimMap at{{f.row.var, row}, {f.col.var, column}};
  Scalar rounded = expr::make_cast(sum.dtype, total);
  std::vector<loop::StmtPtr> stores;
  for (size_t k = 0; k < outputs.size(); ++k) {
    Scalar value = expr::substitute(f.values[k], at, [&](Scalar l) { return l->tensor == f.acc ? rounded : l; });
    stores.push_back(loop::make_store(outputs[k]->id, {expr::substitute(f.offsets[k], at)}, value));
  }
  return loop::make_block(std::move(stores));
}

std::optional<size_t> find_contraction(const Problem& p, const StageList& list) {
  for (const Stage& s : list.stages)
    if (s.tensor->kind == te::Kind::Scatter) return std::nullopt;
  for (size_t i = list.stages.size(); i-- > 0;) {
    if (list.stages[i].tensor->kind != te::Kind::Reduce) continue;
    auto e = make_epilogue(p.ctx, list, i);
    if (e && is_product(p, list, list.stages[i], *e)) return i;
    return std::nullopt;
  }
  return std::nullopt;
}

Status lower_product(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e, Temporaries& temporaries,
                     LoweredNode& out) {
  expr::Context& ctx = p.ctx;
  const size_t first = out.kernels.size();
  if (auto groups = split_groups(p, s, e); groups && !is_plain_product(p, list, s, e)) {
    TRY(lower_product(p, with_sum(list, *groups), groups->stage, groups->epilogue, temporaries, out));
    for (size_t k = first; k < out.kernels.size(); ++k) add_rewrite(out.kernels[k], "groups");
    return ok();
  }
  StageList local = list;
  Scalar body = s.body;
  if (auto padded = make_padded(p, s)) {
    body = padded->body;
    Stage copy{padded->padded, padded->padded->body, {}, {}, false};
    local.add(padded->padded);
    add_temporary(padded->padded, temporaries, out);
    out.kernels.push_back(TRY(lower_map_stages(p, local, {&copy}, temporaries)));
    add_rewrite(out.kernels.back(), "padding");
  }
  Factors f = *make_factors(p, *s.tensor, body, e, local.shapes);
  order_reduction(ctx, f);
  if (can_pack(p, f)) {
    out.kernels.push_back(TRY(lower_gemm(p, local, *s.tensor, e.outputs, f, Operand::Packed, ctx.constant(0), temporaries)));
    return ok();
  }
  Nest nest{f.reduce, {f.a, f.b}, {}};
  collapse(ctx, nest);
  f.reduce = nest.loops;
  f.a = nest.scalars[0];
  f.b = nest.scalars[1];
  // Few rows or many: where the sizes do not tell, the run does.
  const Dim rows = f.row.extent;
  Dim least = ctx.constant(0);
  if (!rows.is_const(0) && fits_skinny_gemm(ctx, f)) {
    least = ctx.constant(1);
    for (const Dim most : rows_of_versions(ctx, p.target, f)) {
      // Rows that are a multiple of more are never so few.
      const bool never = most.is_const() && ctx.divisible(rows, most.const_value() + 1);
      if (!never && !ctx.proves_less(most, rows) && !ctx.proves_less(rows, least))
        out.kernels.push_back(
            TRY(lower_gemm(p, local, *s.tensor, e.outputs, f, Operand::InPlace, least, temporaries, most)));
      least = most + 1;
    }
    if (ctx.proves_less(rows, least)) return ok();
  }
  out.kernels.push_back(TRY(can_block(ctx, f)
                                ? lower_blocked(p, local, *s.tensor, e.outputs, f, least, temporaries)
                                : lower_gemm(p, local, *s.tensor, e.outputs, f, Operand::Panel, least, temporaries)));
  return ok();
}

bool is_packed_product(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e) {
  auto f = make_factors(p, *s.tensor, s.body, e, list.shapes);
  return f && can_pack(p, *f);
}

bool is_padded_product(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e, expr::TensorId padded) {
  auto f = make_factors(p, *s.tensor, s.body, e, list.shapes);
  if (!f || f->b->kind != expr::ScalarKind::Load || f->b->tensor != padded || runs_of(p.ctx, *f) != Runs::AlongColumns)
    return false;
  // The matrix has an axis for each loop; batches that broadcast at run time go through it in no even steps.
  std::vector<Loop> loops = f->outer;
  loops.insert(loops.end(), f->reduce.begin(), f->reduce.end());
  return std::all_of(loops.begin(), loops.end(),
                     [&](const Loop& l) { return stride_in(p.ctx, f->b->index[0], l.var).has_value(); });
}

Result<LoweredKernel> lower_product_of_words(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                                             Operand operand, Step step, const Temporaries& temporaries) {
  Factors f = *make_factors(p, *s.tensor, s.body, e, list.shapes);
  f.step = step;
  order_reduction(p.ctx, f);
  return lower_gemm(p, list, *s.tensor, e.outputs, f, operand, p.ctx.constant(0), temporaries);
}

Result<LoweredNode> lower_contraction(const Problem& p, const StageList& list, size_t root) {
  LoweredNode out;
  Temporaries temporaries;
  TRY(lower_stages_before(p, list, root, temporaries, out));
  const Stage& s = list.stages[root];
  const Epilogue e = *make_epilogue(p.ctx, list, root);
  if (s.is_output || !turns_for_outputs(p, list, s, e)) {
    TRY(lower_product(p, list, s, e, temporaries, out));
    return out;
  }
  add_temporary(s.tensor, temporaries, out);
  TRY(lower_product(p, list, s, no_epilogue(p.ctx, s.tensor), temporaries, out));
  for (size_t i = root + 1; i < list.stages.size(); ++i) {
    const Stage& after = list.stages[i];
    if (!after.is_output) add_temporary(after.tensor, temporaries, out);
    out.kernels.push_back(TRY(lower_single_stage(p, list, after, temporaries)));
  }
  return out;
}

}  // namespace pliant::lower
