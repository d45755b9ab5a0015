// The sum over k of products becomes one over k / 2 of dot2: the first factors are a copy of x, with the border of
// a window around it, the second are laid out when the model is compiled.

#include "expr/scalar/packed.h"
#include "lower/rewrites/byte_product.h"
#include "lower/rewrites/rewrite.h"

namespace pliant::lower {

namespace {

std::optional<Rewritten> with_dot2(const Problem& p, const StageList& list, const ByteProduct& f) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *list.stages[f.root].tensor;
  const Dim taps = t.reduce_extent[f.tap];
  const SymbolId tap = t.reduce_index[f.tap];
  auto border = bordered_copy(f.load, f.tensor->shape, f.guarded, loops_of(t));
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
    Scalar exists = border->exists(f.tensor->shape, at);
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
        return (*copy)(read_at(*border, f, map, r[f.tap]))*second;
      });
  Rewritten out{p, list, f.root};
  out.before.push_back(out.add(copy));
  out.add(sum);
  out.sums.push_back(
      {recast(ctx, t, sum, *make_epilogue(ctx, list, f.root), [&](const te::Index& o) { return index_map(t, o, {}); }),
       RewrittenSum::Kernel::Packed, Step::Dot2});
  return out;
}

std::optional<Rewritten> find(const Problem& p, const StageList& list) {
  const std::optional<ByteProduct> f = find_byte_product(p, list);
  if (!f || !f->is_constant) return std::nullopt;
  std::optional<Rewritten> out = with_dot2(p, list, *f);
  if (out && !is_packed_product(out->p, out->list, out->sums[0].recast.stage, out->sums[0].recast.epilogue)) out.reset();
  return out;
}

}  // namespace

Rewrite rewrite_dot2() { return {.name = "dot2", .before = "contraction", .order = 1, .find = find}; }

}  // namespace pliant::lower
