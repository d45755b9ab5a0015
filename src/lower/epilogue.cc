#include "lower/epilogue.h"

#include <algorithm>

namespace pliant::lower {

namespace {

// Gives the map from a reader's index to the root's when `load` (of a tensor of the root's shape order) is a permutation of
// axes.
std::optional<expr::DimMap> invert_index(expr::Context& ctx, const te::TensorDef& reader, Scalar load,
                                         const std::vector<Dim>& over_root) {
  expr::DimMap map;
  for (size_t i = 0; i < load->index.size(); ++i) {
    auto v = load->index[i].as_symbol();
    if (load->index[i].is_const(0)) continue;
    if (!v || std::find(reader.index.begin(), reader.index.end(), *v) == reader.index.end() || map.count(*v))
      return std::nullopt;
    map[*v] = over_root[i];
  }
  for (size_t j = 0; j < reader.index.size(); ++j) {
    if (map.count(reader.index[j])) continue;
    if (!reader.shape[j].is_const(1)) return std::nullopt;
    map[reader.index[j]] = ctx.constant(0);
  }
  return map;
}

}  // namespace

Epilogue no_epilogue(expr::Context& ctx, const te::Tensor& root) {
  const std::vector<Dim> index = index_of(ctx, *root);
  return {{expr::make_load(ctx, root->id, root->dtype, index)}, {index}, {root}};
}

std::optional<Epilogue> make_epilogue(expr::Context& ctx, const StageList& list, size_t root) {
  Epilogue out;
  const te::TensorDef& t = *list.stages[root].tensor;
  const std::vector<Dim> identity = index_of(ctx, t);
  std::map<expr::TensorId, std::pair<Scalar, std::vector<Dim>>> known;  // value and index over the root's index
  known[t.id] = {expr::make_load(ctx, t.id, t.dtype, identity), identity};
  if (list.stages[root].is_output) out = no_epilogue(ctx, list.stages[root].tensor);
  for (size_t i = root + 1; i < list.stages.size(); ++i) {
    const Stage& s = list.stages[i];
    if (s.tensor->kind != te::Kind::Map || !s.is_output) return std::nullopt;
    std::optional<expr::DimMap> map;
    for (Scalar l : expr::loads_of(s.body)) {
      auto it = known.find(l->tensor);
      if (it == known.end()) continue;
      auto m = invert_index(ctx, *s.tensor, l, it->second.second);
      if (!m || (map && !(*m == *map))) return std::nullopt;
      map = m;
    }
    if (!map || !ctx.proves_equal(element_count(ctx, s.tensor->shape), element_count(ctx, t.shape))) return std::nullopt;
    Scalar over_root = expr::substitute(s.body, *map, [&](Scalar l) {
      auto it = known.find(l->tensor);
      return it == known.end() ? l : it->second.first;
    });
    std::vector<Dim> index;
    for (SymbolId v : s.tensor->index) index.push_back(map->at(v));
    known[s.tensor->id] = {over_root, index};
    out.values.push_back(over_root);
    out.index.push_back(index);
    out.outputs.push_back(s.tensor);
  }
  return out;
}

std::optional<size_t> last_reduction(expr::Context& ctx, const StageList& list) {
  std::optional<size_t> last;
  for (size_t i = 0; i < list.stages.size(); ++i) {
    const te::Kind kind = list.stages[i].tensor->kind;
    if (kind == te::Kind::Scatter) return std::nullopt;
    if (kind == te::Kind::Reduce) last = i;
  }
  return last && make_epilogue(ctx, list, *last) ? last : std::nullopt;
}

te::Index index_of(expr::Context& ctx, const te::TensorDef& t) {
  te::Index at;
  for (SymbolId v : t.index) at.push_back(ctx.symbol_dim(v));
  return at;
}

std::vector<Loop> loops_of(const te::TensorDef& t) {
  std::vector<Loop> loops;
  for (size_t i = 0; i < t.index.size(); ++i) loops.push_back({t.index[i], t.shape[i]});
  for (size_t i = 0; i < t.reduce_index.size(); ++i) loops.push_back({t.reduce_index[i], t.reduce_extent[i]});
  return loops;
}

expr::DimMap index_map(const te::TensorDef& root, const te::Index& index, const te::Index& reduce) {
  expr::DimMap map;
  for (size_t i = 0; i < index.size(); ++i) map[root.index[i]] = index[i];
  for (size_t i = 0; i < reduce.size(); ++i) map[root.reduce_index[i]] = reduce[i];
  return map;
}

Recast recast(expr::Context& ctx, const te::TensorDef& t, const te::Tensor& sum, const Epilogue& e,
              const std::function<expr::DimMap(const te::Index&)>& map_of,
              const std::function<Scalar(const expr::DimMap&, Scalar sum)>& total) {
  const te::Index at = index_of(ctx, *sum);
  const expr::DimMap map = map_of(at);
  const Scalar value = total ? total(map, (*sum)(at)) : (*sum)(at);
  Recast out{{sum, sum->body, {}, {}, false}, {}};
  out.epilogue.outputs = e.outputs;
  for (Scalar v : e.values)
    out.epilogue.values.push_back(expr::substitute(v, map, [&](Scalar l) { return l->tensor == t.id ? value : l; }));
  for (const std::vector<Dim>& index : e.index) {
    std::vector<Dim>& moved = out.epilogue.index.emplace_back();
    for (Dim d : index) moved.push_back(expr::substitute(d, map));
  }
  return out;
}

Scalar flat_epilogue(expr::Context& ctx, Scalar value, const te::TensorDef& root, expr::TensorId acc,
                     const ShapeTable& shapes) {
  return expr::substitute(value, {}, [&](Scalar l) {
    return l->tensor == root.id
               ? expr::make_load(ctx, acc, root.dtype, {ctx.constant(0)})
               : expr::make_load(ctx, l->tensor, l->dtype, {flat_offset(ctx, shapes.at(l->tensor), l->index)});
  });
}

}  // namespace pliant::lower
