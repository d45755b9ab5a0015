// The sum over k of products becomes one over k / 2 of dot2: the first factors are a copy of x, with the border of
// a window around it, the second are laid out when the model is compiled.
#include "lower/rewrites/dot2.h"

#include <algorithm>

#include "expr/scalar/packed.h"
#include "lower/contraction/contraction.h"
#include "lower/rewrites/byte_product.h"
#include "lower/stage_kernels.h"
#include "lower/temporaries.h"

namespace pliant::lower {

namespace {

struct Dot2Stages {
  Stage copy;
  Recast sum;
};
std::optional<Dot2Stages> make_dot2_stages(const Problem& p, const StageList& list, const ByteProduct& f) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *list.stages[f.root].tensor;
  const Dim taps = t.reduce_extent[f.tap];
  const SymbolId tap = t.reduce_index[f.tap];
  auto border = bordered_copy(p, list, f);
  if (!border) return std::nullopt;
  border->shape.back() = ceildiv(taps, 2);
  // A zero point may differ from row to row, where a row of the copy is one of the sum.
  std::map<SymbolId, size_t> axis_of;
  for (size_t a = 0; a + 1 < border->shape.size(); ++a)
    if (auto v = f.load->index[a].as_symbol(); v && !f.guarded[a]) axis_of[*v] = a;
  if (Scalar zero = f.x_zero())
    for (SymbolId v : t.index)
      if (expr::uses_symbol(zero, v) && !axis_of.count(v)) return std::nullopt;

  const Scalar nothing = expr::make_const_int(ctx, DType::I32, 0);
  const bool odd = !ctx.divisible(taps, 2);
  auto pair_of = [&](Dim pair, const std::function<Scalar(Dim)>& at) {
    Scalar second = at(pair * 2 + 1);
    if (odd) second = expr::make_select(expr::less(pair * 2 + 1, taps), second, nothing);
    return expr::pack2(at(pair * 2), second);
  };
  te::Tensor copy = p.te.map(f.tensor->name + "_dot2", border->shape, [&](const te::Index& i) {
    te::Index at = border->source(i);
    expr::DimMap rows;
    for (auto [v, a] : axis_of) rows[v] = at[a];
    Scalar pair = pair_of(i.back(), [&](Dim k) {
      at.back() = k;
      Scalar moved = (*f.tensor)(at);
      return expr::substitute(expr::substitute(f.x, {}, [&](Scalar l) { return l == f.load ? moved : l; }), rows);
    });
    Scalar exists = border->exists(f, at);
    return exists ? expr::make_select(exists, pair, nothing) : pair;
  });
  std::vector<Dim> extent = t.reduce_extent;
  extent[f.tap] = border->shape.back();
  te::Tensor sum =
      p.te.reduce(t.name + "_dot2", t.shape, extent, te::Combiner::Sum, [&](const te::Index& o, const te::Index& r) {
        const expr::DimMap map = index_map(t, o, r);
        Scalar second = pair_of(r[f.tap], [&](Dim k) {
          expr::DimMap moved = map;
          moved[tap] = k;
          return expr::substitute(f.w, moved);
        });
        return (*copy)(border->read_at(f, map, r[f.tap])) * second;
      });
  return Dot2Stages{
      {copy, copy->body, {}, {}, false},
      recast(ctx, t, sum, *make_epilogue(ctx, list, f.root), [&](const te::Index& o) { return index_map(t, o, {}); })};
}

}  // namespace

bool has_dot2(const Problem& p, const StageList& list) {
  auto f = find_byte_product(p, list);
  if (!f || !f->is_constant) return false;
  auto stages = make_dot2_stages(p, list, *f);
  if (!stages) return false;
  StageList local = list;
  local.add(stages->copy.tensor);
  local.add(stages->sum.stage.tensor);
  return is_packed_product(p, local, stages->sum.stage, stages->sum.epilogue);
}

Result<LoweredNode> lower_dot2(const Problem& p, const StageList& list) {
  ByteProduct f = *find_byte_product(p, list);
  LoweredNode out;
  Temporaries temporaries;
  TRY(lower_stages_before(p, list, f.root, temporaries, out));
  Dot2Stages stages = *make_dot2_stages(p, list, f);
  StageList local = list;
  local.add(stages.copy.tensor);
  local.add(stages.sum.stage.tensor);
  add_temporary(stages.copy.tensor, temporaries, out);
  out.kernels.push_back(TRY(lower_map_stages(p, local, {&stages.copy}, temporaries)));
  TRY(lower_packed_product(p, local, stages.sum.stage, stages.sum.epilogue, Step::Dot2, temporaries, out));
  return out;
}

}  // namespace pliant::lower
