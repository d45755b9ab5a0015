//   sum over k of (i32(x[…, k]) - x_zero) * (i32(w[k, c]) - w_zero)
// becomes a sum over k / 2 of pair products: the first factors are a copy of x, with the border of a window around it, the
// second are laid out when the model is compiled.
#include "lower/pairs.h"

#include <algorithm>

#include "expr/pair.h"
#include "lower/contraction.h"
#include "lower/padding.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

namespace {

bool is_byte(DType t) { return t == DType::I8 || t == DType::U8; }

const graph::ConstantPtr* constant_of(const Problem& p, expr::TensorId id) {
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (p.inputs[i] && p.inputs[i]->id == id && p.constants[i]) return &p.constants[i];
  return nullptr;
}

// An 8-bit value as i32, or the difference of two.
bool fits_half(Scalar s) {
  if (s->kind == expr::ScalarKind::Cast)
    return s->dtype == DType::I32 && s->args[0]->kind == expr::ScalarKind::Load && is_byte(s->args[0]->dtype);
  return s->kind == expr::ScalarKind::Binary && s->binary() == expr::BinaryOp::Sub &&
         s->args[0]->kind == expr::ScalarKind::Cast && s->args[1]->kind == expr::ScalarKind::Cast && fits_half(s->args[0]) &&
         fits_half(s->args[1]);
}

struct Pairs {
  size_t root;
  Scalar x, w;  // the factors
  Scalar load;  // of the tensor that is copied, in x
  te::Tensor tensor;
  std::vector<bool> guarded;
  size_t tap;  // the reduction along the tensor's last axis
};

std::optional<Pairs> pairs_of(const Problem& p, const StageList& list, size_t root) {
  const Stage& s = list.stages[root];
  const te::TensorDef& t = *s.tensor;
  if (t.combiner != te::Combiner::Sum || t.accumulate != DType::I32) return std::nullopt;
  Guarded g = split_guard(p.ctx, s.body, t.combiner, t.accumulate);
  if (g.body->kind != expr::ScalarKind::Binary || g.body->binary() != expr::BinaryOp::Mul) return std::nullopt;
  Pairs out{root, g.body->args[0], g.body->args[1], {}, {}, {}, 0};
  auto is_constant = [&](Scalar f) {
    auto loads = expr::loads_of(f);
    return std::all_of(loads.begin(), loads.end(), [&](Scalar l) { return constant_of(p, l->tensor) != nullptr; });
  };
  if (is_constant(out.x)) std::swap(out.x, out.w);
  if (is_constant(out.x) || !is_constant(out.w) || !fits_half(out.x) || !fits_half(out.w)) return std::nullopt;
  Scalar first = out.x->kind == expr::ScalarKind::Cast ? out.x : out.x->args[0];
  out.load = first->args[0];
  for (Scalar l : expr::loads_of(out.x))
    for (SymbolId r : t.reduce_index)
      if (!(l == out.load) && std::any_of(l->index.begin(), l->index.end(), [&](Dim d) { return expr::uses_symbol(d, r); }))
        return std::nullopt;
  auto found = list.tensors.find(out.load->tensor);
  if (found == list.tensors.end() || out.load->index.empty()) return std::nullopt;
  out.tensor = found->second;
  auto last = out.load->index.back().as_symbol();
  auto tap = last ? std::find(t.reduce_index.begin(), t.reduce_index.end(), *last) : t.reduce_index.end();
  if (tap == t.reduce_index.end()) return std::nullopt;
  out.tap = static_cast<size_t>(tap - t.reduce_index.begin());
  for (size_t a = 0; a + 1 < out.load->index.size(); ++a)
    if (expr::uses_symbol(out.load->index[a], *tap)) return std::nullopt;
  out.guarded.assign(out.tensor->rank(), false);
  if (g.guard && !guards_exactly(p.ctx, g.guard, out.load, out.tensor->shape, out.guarded)) return std::nullopt;
  if (out.guarded.back()) return std::nullopt;
  for (Dim d : t.reduce_extent)
    if (!d.is_const() || d.is_const(0)) return std::nullopt;
  return out;
}

// Both strategies' root: the last reduction, with everything after it elementwise.
std::optional<Pairs> find_pairs(const Problem& p, const StageList& list) {
  for (const Stage& s : list.stages)
    if (s.tensor->kind == te::Kind::Scatter || s.tensor->kind == te::Kind::Scan) return std::nullopt;
  for (size_t i = list.stages.size(); i-- > 0;) {
    if (list.stages[i].tensor->kind != te::Kind::Reduce) continue;
    if (!make_epilogue(p.ctx, list, i)) return std::nullopt;
    return pairs_of(p, list, i);
  }
  return std::nullopt;
}

struct PairStages {
  Stage copy, sum;
  Epilogue epilogue;
};
std::optional<PairStages> make_stages_of(const Problem& p, const StageList& list, const Pairs& f) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *list.stages[f.root].tensor;
  const Dim taps = t.reduce_extent[f.tap], zero = ctx.constant(0);
  const SymbolId tap = t.reduce_index[f.tap];
  std::vector<Loop> loops;
  for (size_t i = 0; i < t.index.size(); ++i) loops.push_back({t.index[i], t.shape[i]});
  for (size_t i = 0; i < t.reduce_index.size(); ++i) loops.push_back({t.reduce_index[i], t.reduce_extent[i]});
  // The copy: positions from `low` on, of pairs.
  std::vector<Dim> shape = f.tensor->shape, low(shape.size(), zero);
  for (size_t a = 0; a + 1 < shape.size(); ++a) {
    if (!f.guarded[a]) continue;
    auto w = window_of(ctx, f.load->index[a], loops);
    if (!w) return std::nullopt;
    low[a] = w->lowest;
    shape[a] = max(zero, w->highest - w->lowest + 1);
  }
  shape.back() = ceildiv(taps, 2);
  const Scalar nothing = expr::make_const_int(ctx, DType::I32, 0);
  const bool odd = !ctx.divisible(taps, 2);
  auto pair_of = [&](Dim pair, const std::function<Scalar(Dim)>& at) {
    Scalar second = at(pair * 2 + 1);
    if (odd) second = expr::make_select(expr::less(pair * 2 + 1, taps), second, nothing);
    return expr::make_pair(at(pair * 2), second);
  };
  te::Tensor copy = p.te.map(f.tensor->name + "_pairs", shape, [&](const te::Index& i) {
    Scalar inside;
    te::Index at = i;
    for (size_t a = 0; a + 1 < shape.size(); ++a) {
      at[a] = i[a] + low[a];
      if (!f.guarded[a]) continue;
      for (Scalar c : {expr::less_equal(zero, at[a]), expr::less(at[a], f.tensor->shape[a])})
        inside = inside ? expr::logical_and(inside, c) : c;
    }
    Scalar pair = pair_of(i.back(), [&](Dim k) {
      at.back() = k;
      Scalar moved = (*f.tensor)(at);
      return expr::substitute(f.x, {}, [&](Scalar l) { return l == f.load ? moved : l; });
    });
    return inside ? expr::make_select(inside, pair, nothing) : pair;
  });
  std::vector<Dim> extent = t.reduce_extent;
  extent[f.tap] = shape.back();
  te::Tensor sum =
      p.te.reduce(t.name + "_pairs", t.shape, extent, te::Combiner::Sum, [&](const te::Index& o, const te::Index& r) {
        expr::DimMap map;
        for (size_t i = 0; i < o.size(); ++i) map[t.index[i]] = o[i];
        for (size_t i = 0; i < r.size(); ++i) map[t.reduce_index[i]] = r[i];
        te::Index at;
        for (size_t a = 0; a < shape.size(); ++a)
          at.push_back(a + 1 == shape.size() ? r[f.tap] : expr::substitute(f.load->index[a] - low[a], map));
        Scalar second = pair_of(r[f.tap], [&](Dim k) {
          expr::DimMap moved = map;
          moved[tap] = k;
          return expr::substitute(f.w, moved);
        });
        return (*copy)(at)*second;
      });
  te::Index at;
  expr::DimMap map;
  for (size_t i = 0; i < t.index.size(); ++i) {
    at.push_back(ctx.symbol_dim(sum->index[i]));
    map[t.index[i]] = at.back();
  }
  PairStages out{{copy, copy->body, {}, {}, false}, {sum, sum->body, {}, {}, false}, *make_epilogue(ctx, list, f.root)};
  for (Scalar& v : out.epilogue.values)
    v = expr::substitute(v, map,
                         [&](Scalar l) { return l->tensor == t.id ? expr::make_load(ctx, sum->id, t.dtype, at) : l; });
  for (std::vector<Dim>& index : out.epilogue.index)
    for (Dim& d : index) d = expr::substitute(d, map);
  return out;
}

}  // namespace

bool has_pairs(const Problem& p, const StageList& list) {
  auto f = find_pairs(p, list);
  if (!f) return false;
  auto stages = make_stages_of(p, list, *f);
  if (!stages) return false;
  StageList local = list;
  local.add(stages->copy.tensor);
  local.add(stages->sum.tensor);
  return is_packed_product(p, local, stages->sum, stages->epilogue);
}

Result<LoweredNode> lower_pairs(const Problem& p, const StageList& list) {
  Pairs f = *find_pairs(p, list);
  LoweredNode out;
  Temporaries temporaries;
  auto add_temporary = [&](const te::Tensor& t) {
    temporaries[t->id] = static_cast<int32_t>(out.temporaries.size());
    out.temporaries.push_back({t->dtype, t->shape});
  };
  for (size_t i = 0; i < f.root; ++i) {
    if (!list.stages[i].is_output) add_temporary(list.stages[i].tensor);
    out.kernels.push_back(TRY(lower_single_stage(p, list, list.stages[i], temporaries)));
  }
  PairStages stages = *make_stages_of(p, list, f);
  StageList local = list;
  local.add(stages.copy.tensor);
  local.add(stages.sum.tensor);
  add_temporary(stages.copy.tensor);
  out.kernels.push_back(TRY(lower_map_stages(p, local, {&stages.copy}, temporaries)));
  TRY(lower_pairs_product(p, local, stages.sum, stages.epilogue, temporaries, out));
  return out;
}

}  // namespace pliant::lower
