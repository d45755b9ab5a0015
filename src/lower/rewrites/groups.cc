#include "lower/rewrites/groups.h"

namespace pliant::lower {

namespace {

// c of a term floordiv(var, c) of `d`.
std::optional<int64_t> divisor_of(Dim d, SymbolId var) {
  for (const auto& [monomial, coefficient] : d->terms)
    for (const auto& [atom, power] : monomial->factors)
      if (atom->kind == expr::AtomKind::FloorDiv && atom->args[0].as_symbol() == var && atom->args[1].is_const())
        return atom->args[1].const_value();
  return std::nullopt;
}

std::optional<int64_t> group_size(expr::Context& ctx, const te::TensorDef& t, Scalar body) {
  if (t.index.empty()) return std::nullopt;
  std::optional<int64_t> size;
  for (Scalar load : expr::loads_of(body))
    for (Dim d : load->index)
      if (auto c = divisor_of(d, t.index.back())) {
        if (*c < 2 || (size && *size != *c)) return std::nullopt;
        size = c;
      }
  return size && ctx.divisible(t.shape.back(), *size) ? size : std::nullopt;
}

}  // namespace

std::optional<Recast> split_groups(const Problem& p, const Stage& s, const Epilogue& e) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  const auto size = group_size(ctx, t, s.body);
  if (!size) return std::nullopt;
  const int64_t lanes = p.target.vector_bytes / byte_size(t.accumulate);
  if (lanes % *size == 0 && 4 * *size <= lanes) return std::nullopt;
  std::vector<Dim> shape = t.shape;
  shape.back() = floordiv(shape.back(), *size);
  shape.push_back(ctx.constant(*size));
  auto map_of = [&](const te::Index& o) {
    expr::DimMap map;
    for (size_t i = 0; i + 1 < t.index.size(); ++i) map[t.index[i]] = o[i];
    map[t.index.back()] = o[o.size() - 2] * *size + o.back();
    return map;
  };
  te::Tensor sum =
      p.te.reduce(t.name + "_groups", shape, t.reduce_extent, t.combiner, [&](const te::Index& o, const te::Index& r) {
        expr::DimMap map = map_of(o);
        for (size_t i = 0; i < r.size(); ++i) map[t.reduce_index[i]] = r[i];
        return expr::substitute(s.body, map);
      });
  return recast(ctx, t, sum, e, map_of);
}

}  // namespace pliant::lower
