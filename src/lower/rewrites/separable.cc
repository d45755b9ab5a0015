// max over (k, l) of x[s*i + k, t*j + l] is max over k of m[s*i + k, j] with m[h, j] = max over l of x[h, t*j + l]. The last
// axis of the window goes first; terms of the guard go with the axis that they bound.
#include <algorithm>

#include "lower/rewrites/rewrite.h"

namespace pliant::lower {

namespace {

// The temporary between the axes costs about as much as so many taps.
constexpr int64_t kTapsOfTemporary = 4;

// An axis of the load that an outer axis of the window moves over.
struct Outer {
  size_t axis, output;  // of the load, and of the stage's index
  int64_t stride;       // positions from one output to the next
};

struct Separable {
  size_t root;
  Scalar load, body;         // body: the guard's value
  std::vector<Outer> outer;  // one for each axis of the window but the last
  Scalar first, second;      // the terms of the guard for the last axis, and for the others; null for none
  std::vector<Dim> input;    // the shape that is loaded from
};

template <class T>
bool uses_any(T s, const std::vector<SymbolId>& vars) {
  return std::any_of(vars.begin(), vars.end(), [&](SymbolId v) { return expr::uses_symbol(s, v); });
}

// Fills in which axes of the load the outer axes of the window move over.
bool find_outer(const te::TensorDef& t, Separable& s) {
  const std::vector<SymbolId> window(t.reduce_index.begin(), t.reduce_index.end() - 1);
  for (size_t a = 0; a < s.load->index.size(); ++a) {
    const Dim e = s.load->index[a];
    if (!uses_any(e, window)) continue;
    auto tap = only_use(e, t.reduce_index), output = only_use(e, t.index);
    if (!tap || !output || output->coefficient < 1) return false;
    for (size_t b = 0; b < s.load->index.size(); ++b)  // both move along this axis only
      if (b != a && (expr::uses_symbol(s.load->index[b], t.reduce_index[tap->at]) ||
                     expr::uses_symbol(s.load->index[b], t.index[output->at])))
        return false;
    s.outer.push_back({a, output->at, output->coefficient});
  }
  return s.outer.size() == window.size();
}

bool split_terms(const te::TensorDef& t, Scalar guard, Separable& s) {
  if (!guard) return true;
  std::vector<SymbolId> outer(t.reduce_index.begin(), t.reduce_index.end() - 1);
  for (const Outer& o : s.outer) outer.push_back(t.index[o.output]);
  for (Scalar term : expr::conjuncts_of(guard)) {
    const bool is_last = expr::uses_symbol(term, t.reduce_index.back());
    if (is_last && uses_any(term, outer)) return false;
    Scalar& side = is_last ? s.first : s.second;
    side = side ? expr::logical_and(side, term) : term;
  }
  return true;
}

bool pays(const te::TensorDef& t, const Separable& s) {
  int64_t all = 1, rest = 1, rows = 1;
  for (Dim d : t.reduce_extent) {
    if (!d.is_const() || d.const_value() < 1 || d.const_value() > 4096) return false;
    all *= d.const_value();
  }
  rest = all / t.reduce_extent.back().const_value();
  for (const Outer& o : s.outer) rows *= o.stride;
  return all >= 2 * (rows * t.reduce_extent.back().const_value() + rest) + kTapsOfTemporary;
}

std::optional<Separable> find_separable(const Problem& p, const StageList& list) {
  const auto root = last_reduction(p.ctx, list);
  if (!root) return std::nullopt;
  const Stage& stage = list.stages[*root];
  const te::TensorDef& t = *stage.tensor;
  const bool combines =
      t.combiner == te::Combiner::Max || t.combiner == te::Combiner::Min || t.combiner == te::Combiner::Sum;
  if (!combines || t.dtype != t.accumulate || t.reduce_index.size() < 2) return std::nullopt;
  const Guarded g = split_guard(p.ctx, stage.body, t.combiner, t.accumulate);
  const std::vector<Scalar> loads = expr::loads_of(g.body);
  if (loads.size() != 1 || !list.shapes.count(loads[0]->tensor)) return std::nullopt;
  Separable s{*root, loads[0], g.body, {}, {}, {}, list.shapes.at(loads[0]->tensor)};
  // The variables are used to find the element and for nothing else. A constant in the element's place could fold away a
  // condition that uses them.
  const Scalar alone =
      expr::substitute(g.body, {}, [&](Scalar l) { return expr::make_load(p.ctx, l->tensor, l->dtype, {}); });
  if (uses_any(alone, t.index) || uses_any(alone, t.reduce_index)) return std::nullopt;
  if (!find_outer(t, s) || !split_terms(t, g.guard, s) || !pays(t, s)) return std::nullopt;
  return s;
}

Scalar guarded(expr::Context& ctx, const te::TensorDef& t, Scalar guard, Scalar value) {
  if (!guard) return value;
  return expr::make_select(guard, expr::make_cast(t.accumulate, value), identity_of(ctx, t.combiner, t.accumulate));
}

// The last axis of the window at every position that the others may look at.
te::Tensor reduce_last(const Problem& p, const te::TensorDef& t, const Separable& s) {
  std::vector<Dim> shape = t.shape;
  for (const Outer& o : s.outer) shape[o.output] = s.input[o.axis];
  return p.te.reduce(t.name + "_lines", shape, {t.reduce_extent.back()}, t.combiner,
                     [&](const te::Index& o, const te::Index& r) {
                       expr::DimMap map = index_map(t, o, {});
                       map[t.reduce_index.back()] = r[0];
                       te::Index at = s.load->index;
                       for (Dim& d : at) d = expr::substitute(d, map);
                       for (const Outer& x : s.outer) at[x.axis] = o[x.output];
                       const Scalar moved = expr::make_load(p.ctx, s.load->tensor, s.load->dtype, at);
                       const Scalar value = expr::substitute(s.body, {}, [&](Scalar) { return moved; });
                       return guarded(p.ctx, t, s.first ? expr::substitute(s.first, map) : Scalar(), value);
                     });
}

te::Tensor reduce_rest(const Problem& p, const te::TensorDef& t, const Separable& s, const te::Tensor& lines) {
  const std::vector<Dim> extent(t.reduce_extent.begin(), t.reduce_extent.end() - 1);
  return p.te.reduce(t.name + "_windows", t.shape, extent, t.combiner, [&](const te::Index& o, const te::Index& r) {
    const expr::DimMap map = index_map(t, o, r);
    te::Index at = o;
    for (const Outer& x : s.outer) at[x.output] = expr::substitute(s.load->index[x.axis], map);
    return guarded(p.ctx, t, s.second ? expr::substitute(s.second, map) : Scalar(), (*lines)(at));
  });
}

std::optional<Rewritten> find(const Problem& p, const StageList& list) {
  const std::optional<Separable> s = find_separable(p, list);
  if (!s) return std::nullopt;
  const te::TensorDef& t = *list.stages[s->root].tensor;
  Rewritten out{p, list, s->root};
  const te::Tensor lines = reduce_last(p, t, *s);
  out.before.push_back(out.add(lines));
  const te::Tensor rest = reduce_rest(p, t, *s, lines);
  out.add(rest);
  out.sums.push_back({recast(p.ctx, t, rest, *make_epilogue(p.ctx, list, s->root),
                             [&](const te::Index& o) { return index_map(t, o, {}); })});
  return out;
}

}  // namespace

Rewrite rewrite_separable() { return {.name = "separable", .before = "rows", .find = find}; }

}  // namespace pliant::lower
