// From a stage that sums products to the factors and loops of a register-tiled kernel.
#include "lower/contraction.h"

#include <algorithm>

#include "lower/epilogue.h"
#include "lower/padding.h"
#include "lower/stage_kernels.h"
#include "lower/tile.h"

namespace pliant::lower {

namespace {

bool uses_any(Scalar s, SymbolId v) { return expr::uses_symbol(s, v); }

struct Product {
  Scalar x, y;
};
std::optional<Product> product_of_body(Scalar body) {
  if (body->kind != expr::ScalarKind::Binary || body->binary() != expr::BinaryOp::Mul) return std::nullopt;
  return Product{body->args[0], body->args[1]};
}

// The factor that varies along the output's contiguous axis is b.
std::optional<Factors> make_factors(const Problem& p, const te::TensorDef& t, Scalar body, const Epilogue& e,
                                    const ShapeTable& shapes) {
  expr::Context& ctx = p.ctx;
  auto prod = product_of_body(flatten_loads(ctx, body, shapes));
  if (!prod || e.outputs.empty()) return std::nullopt;
  Factors f;
  f.acc = ctx.fresh_tensor();
  Nest nest;
  for (size_t i = 0; i < t.index.size(); ++i) nest.loops.push_back({t.index[i], t.shape[i]});
  nest.scalars = {prod->x, prod->y};
  for (size_t k = 0; k < e.values.size(); ++k) {
    nest.offsets.push_back(flat_offset(ctx, e.outputs[k]->shape, e.index[k]));
    nest.scalars.push_back(flat_epilogue(ctx, e.values[k], t, f.acc, shapes));
  }
  collapse(ctx, nest);
  if (nest.loops.empty()) return std::nullopt;
  // The column loop: contiguous in the first output.
  size_t col = nest.loops.size();
  for (size_t i = nest.loops.size(); i-- > 0 && col == nest.loops.size();) {
    auto s = stride_in(ctx, nest.offsets[0], nest.loops[i].var);
    if (s && s->is_const(1)) col = i;
  }
  if (col == nest.loops.size()) return std::nullopt;
  bool in_x = uses_any(nest.scalars[0], nest.loops[col].var), in_y = uses_any(nest.scalars[1], nest.loops[col].var);
  if (in_x == in_y) return std::nullopt;
  f.a = in_x ? nest.scalars[1] : nest.scalars[0];
  f.b = in_x ? nest.scalars[0] : nest.scalars[1];
  f.col = nest.loops[col];
  size_t row = nest.loops.size();
  for (size_t i = nest.loops.size(); i-- > 0 && row == nest.loops.size();)
    if (i != col && uses_any(f.a, nest.loops[i].var) && !uses_any(f.b, nest.loops[i].var)) row = i;
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

bool is_constant_operand(const Problem& p, Scalar b) {
  auto loads = expr::loads_of(b);
  return !loads.empty() && std::all_of(loads.begin(), loads.end(), [&](Scalar l) {
    for (size_t i = 0; i < p.inputs.size(); ++i)
      if (p.inputs[i] && p.inputs[i]->id == l->tensor) return p.constants[i] != nullptr;
    return false;
  });
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

bool steps_by_one(expr::Context& ctx, Scalar b, SymbolId var) {
  for (Scalar l : expr::loads_of(b)) {
    auto s = stride_in(ctx, l->index[0], var);
    if (!s || !s->is_const(1)) return false;
  }
  return true;
}

// Whether neighbouring columns read other elements, as those of a matrix do and the windows of a convolution do not.
bool columns_are_apart(expr::Context& ctx, Scalar b, SymbolId column, Dim length) {
  for (Scalar l : expr::loads_of(b)) {
    auto s = stride_in(ctx, l->index[0], column);
    if (!s || !ctx.proves_less_equal(length, *s)) return false;
  }
  return true;
}

// One row, whose other factor is contiguous along the sum: products of two vectors, which no tile reads twice.
bool is_dot_products(const Problem& p, const Factors& f) {
  if (!f.row.extent.is_const(1) || is_constant_operand(p, f.b) || steps_by_one(p.ctx, f.b, f.col.var)) return false;
  return std::any_of(f.reduce.begin(), f.reduce.end(), [&](const Loop& l) {
    return !l.extent.is_const(1) && steps_by_one(p.ctx, f.b, l.var) && columns_are_apart(p.ctx, f.b, f.col.var, l.extent);
  });
}

bool is_contraction(const Problem& p, const StageList& list, size_t i) {
  const Stage& s = list.stages[i];
  const te::TensorDef& t = *s.tensor;
  if (t.kind != te::Kind::Reduce || t.combiner != te::Combiner::Sum) return false;
  auto e = make_epilogue(p.ctx, list, i);
  if (!e) return false;
  Guarded g = split_guard(p.ctx, s.body, t.combiner, t.accumulate);
  if (g.guard && !make_padded(p, s)) return false;
  auto factors = make_factors(p, t, g.body, *e, list.shapes);
  return factors && !is_dot_products(p, *factors);
}

}  // namespace

std::optional<size_t> find_contraction(const Problem& p, const StageList& list) {
  for (const Stage& s : list.stages)
    if (s.tensor->kind == te::Kind::Scatter) return std::nullopt;
  for (size_t i = list.stages.size(); i-- > 0;) {
    if (list.stages[i].tensor->kind != te::Kind::Reduce) continue;
    if (is_contraction(p, list, i)) return i;
    return std::nullopt;
  }
  return std::nullopt;
}

Result<LoweredNode> lower_contraction(const Problem& p, const StageList& list, size_t root) {
  expr::Context& ctx = p.ctx;
  LoweredNode out;
  Temporaries temporaries;
  StageList local = list;
  const Stage& s = list.stages[root];
  auto add_temporary = [&](const te::Tensor& t) {
    temporaries[t->id] = static_cast<int32_t>(out.temporaries.size());
    out.temporaries.push_back({t->dtype, t->shape});
  };
  for (size_t i = 0; i < root; ++i) {
    if (!list.stages[i].is_output) add_temporary(list.stages[i].tensor);
    out.kernels.push_back(TRY(lower_single_stage(p, list, list.stages[i], temporaries)));
  }
  Scalar body = s.body;
  if (auto padded = make_padded(p, s)) {
    body = padded->body;
    Stage copy{padded->padded, padded->padded->body, {}, {}, false};
    local.add(padded->padded);
    add_temporary(padded->padded);
    out.kernels.push_back(TRY(lower_map_stages(p, local, {&copy}, temporaries)));
  }
  Epilogue e = *make_epilogue(ctx, list, root);
  Factors f = *make_factors(p, *s.tensor, body, e, local.shapes);
  Operand operand = Operand::Panel;
  if (is_constant_operand(p, f.b)) {
    operand = Operand::Packed;
  } else {
    auto loads = expr::loads_of(f.b);
    bool contiguous = std::all_of(loads.begin(), loads.end(), [&](Scalar l) {
      auto st = stride_in(ctx, l->index[0], f.col.var);
      return st && (st->is_const(0) || st->is_const(1));
    });
    if (contiguous) operand = Operand::Direct;
  }
  order_reduction(ctx, f);
  out.kernels.push_back(TRY(lower_tiles(p, local, *s.tensor, e.outputs, f, operand, temporaries)));
  return out;
}

}  // namespace pliant::lower
