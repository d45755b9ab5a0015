#include "lower/reduction/halo_tile.h"

#include <algorithm>

#include "lower/rewrites/padding.h"

namespace pliant::lower {

namespace {

constexpr int64_t kManySteps = 3;  // strides that a window of many taps spans
constexpr int64_t kDeepest = 32;   // most positions of the axes other than rows and columns

struct Bounded {
  Scalar load;
  Scalar element;  // what the halo tile holds of it: the load, or the factor that it stands in
  Scalar border;   // what changes nothing where `element` stands outside
  te::Tensor tensor;
  std::vector<bool> guarded;
};

// The factor of a product that holds `load`, where that is the same function of the element at every position of the
// windows: the difference to a zero point, say.
Scalar factor_of(Scalar s, Scalar load, const te::TensorDef& t, const AxisRange& col, const std::optional<AxisRange>& row) {
  auto holds = [&](Scalar x) {
    const std::vector<Scalar> loads = expr::loads_of(x);
    return std::find(loads.begin(), loads.end(), load) != loads.end();
  };
  if (s->kind == expr::ScalarKind::Binary && s->binary() == expr::BinaryOp::Mul) {
    const bool left = holds(s->args[0]), right = holds(s->args[1]);
    return left == right ? Scalar() : factor_of(s->args[left ? 0 : 1], load, t, col, row);
  }
  const Scalar alone =
      expr::substitute(s, {}, [&](Scalar l) { return l == load ? expr::make_const(*l->ctx, l->dtype, 0) : l; });
  std::vector<SymbolId> sliding = t.reduce_index;
  sliding.push_back(col.var);
  if (row) sliding.push_back(row->var);
  const bool moves = std::any_of(sliding.begin(), sliding.end(), [&](SymbolId v) { return expr::uses_symbol(alone, v); });
  return moves ? Scalar() : s;
}

// The one load that the guard bounds.
std::optional<Bounded> bounded_load(const Problem& p, const StageList& list, const Stage& s, const Guarded& g,
                                    const AxisRange& col, const std::optional<AxisRange>& row) {
  const te::TensorDef& t = *s.tensor;
  for (Scalar load : expr::loads_of(g.body)) {
    auto found = list.tensors.find(load->tensor);
    if (found == list.tensors.end()) continue;
    Bounded b{load, load, {}, found->second, {}};
    if (!guards_exactly(p.ctx, g.guard, load, b.tensor->shape, b.guarded)) continue;
    bool same = g.body == load && t.accumulate == load->dtype;
    if (t.combiner == te::Combiner::Max || t.combiner == te::Combiner::Min) {
      if (!same) continue;
      b.border = identity_of(p.ctx, t.combiner, load->dtype);
      return b;
    }
    if (t.combiner != te::Combiner::Sum) continue;
    if (!vanishes_with(g.body, load)) b.element = factor_of(g.body, load, t, col, row);
    if (!b.element) continue;
    b.border = expr::make_const(p.ctx, b.element->dtype, 0);
    return b;
  }
  return std::nullopt;
}

// One axis of the loaded tensor: index = base + a position in [0, extent).
struct HaloAxis {
  Dim base, extent, most, local;  // most: `extent` over the kernel's symbols only
};

// Nothing when the index is not affine with positive constant coefficients.
std::optional<HaloAxis> halo_axis(expr::Context& ctx, const te::TensorDef& t, Dim e, const AxisRange& col,
                                  const std::optional<AxisRange>& row) {
  HaloAxis a{e, ctx.constant(1), ctx.constant(1), {}};
  auto slide = [&](SymbolId v, Dim first, Dim count, Dim most) {
    if (!expr::uses_symbol(e, v)) return true;
    auto c = expr::coefficient_of(e, v);
    if (!c || !c->is_const() || c->const_value() <= 0) return false;
    a.base = expr::substitute(a.base, {{v, first}});
    a.extent = a.extent + *c * (count - 1);
    a.most = a.most + *c * (most - 1);
    return true;
  };
  for (size_t i = 0; i < t.reduce_index.size(); ++i)
    if (!slide(t.reduce_index[i], ctx.constant(0), t.reduce_extent[i], t.reduce_extent[i])) return std::nullopt;
  if (!slide(col.var, col.first, col.count, col.most)) return std::nullopt;
  if (row && !slide(row->var, row->first, row->count, row->most)) return std::nullopt;
  a.local = e - a.base;
  for (SymbolId v : t.index)  // whatever else the index uses is the same for the whole halo_tile
    if (v != col.var && !(row && v == row->var) && expr::uses_symbol(a.local, v)) return std::nullopt;
  return a;
}

// `s` with `to` in the place of `from`, which stands below products and casts only.
Scalar replace_scalar(Scalar s, Scalar from, Scalar to) {
  if (s == from) return to;
  if (s->kind == expr::ScalarKind::Cast) {
    const Scalar inner = replace_scalar(s->args[0], from, to);
    return inner == s->args[0] ? s : expr::make_cast(s->dtype, inner);
  }
  if (s->kind != expr::ScalarKind::Binary || s->binary() != expr::BinaryOp::Mul) return s;
  const Scalar a = replace_scalar(s->args[0], from, to), b = replace_scalar(s->args[1], from, to);
  return a == s->args[0] && b == s->args[1] ? s : a * b;
}

}  // namespace

bool slides_along(const Stage& s, SymbolId var) {
  for (Scalar load : expr::loads_of(s.body))
    for (Dim e : load->index) {
      if (!expr::uses_symbol(e, var)) continue;
      for (size_t k = 0; k < s.tensor->reduce_index.size(); ++k)
        if (!s.tensor->reduce_extent[k].is_const(1) && expr::uses_symbol(e, s.tensor->reduce_index[k])) return true;
    }
  return false;
}

bool is_short_window(expr::Context& ctx, const Stage& s) {
  const te::TensorDef& t = *s.tensor;
  if (t.index.empty() || t.reduce_index.empty()) return false;
  auto upper = const_upper(ctx, t.reduce_extent.back());
  return upper && *upper <= kShortWindow && slides_along(s, t.index.back());
}

bool only_slides(const Stage& s, SymbolId col) {
  const te::TensorDef& t = *s.tensor;
  auto uses_any = [](Dim e, const std::vector<SymbolId>& vars) {
    return std::any_of(vars.begin(), vars.end(), [&](SymbolId v) { return expr::uses_symbol(e, v); });
  };
  for (size_t i = 0; i < t.reduce_index.size(); ++i) {
    bool slides = t.reduce_extent[i].is_const(1);
    for (Scalar load : expr::loads_of(s.body))
      for (Dim e : load->index) slides = slides || (expr::uses_symbol(e, t.reduce_index[i]) && uses_any(e, t.index));
    if (!slides) return false;
  }
  return slides_along(s, col);
}

std::optional<HaloTile> make_halo_tile(const Problem& p, const StageList& list, const Stage& s, const AxisRange& col,
                                       const std::optional<AxisRange>& row, int64_t lanes) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  Guarded g = split_guard(ctx, s.body, t.combiner, t.accumulate);
  if (!g.guard) return std::nullopt;
  auto b = bounded_load(p, list, s, g, col, row);
  if (!b) return std::nullopt;
  HaloTile out;
  out.border = b->border;
  std::vector<HaloAxis> axes;
  std::optional<size_t> col_axis;
  Dim rows = ctx.constant(1), deep = ctx.constant(1);
  for (size_t k = 0; k < b->load->index.size(); ++k) {
    Dim e = b->load->index[k];
    auto a = halo_axis(ctx, t, e, col, row);
    if (!a) return std::nullopt;
    if (expr::uses_symbol(e, col.var)) {
      if (col_axis || (row && expr::uses_symbol(e, row->var))) return std::nullopt;
      col_axis = k;
    } else if (row && expr::uses_symbol(e, row->var)) {
      if (!rows.is_const(1)) return std::nullopt;
      rows = a->most;
    } else {
      deep = deep * a->most;
    }
    axes.push_back(*a);
  }
  // The columns must be the innermost axis of the input.
  if (!col_axis || *col_axis + 1 != axes.size() || !deep.is_const() || deep.const_value() > kDeepest) return std::nullopt;
  // Where a window has many taps, columns `step` apart lie side by side: at stride 2 a line has the even columns first, then
  // the odd ones. For few taps that costs more than loads that step.
  const Dim stride = *expr::coefficient_of(b->load->index[*col_axis], col.var), zero = ctx.constant(0);
  const HaloAxis& c = axes[*col_axis];
  const Dim span = c.extent - stride * (col.count - 1);
  const bool few_taps = span.is_const() && span.const_value() < kManySteps * stride.const_value();
  const Dim step = few_taps ? ctx.constant(1) : stride;
  const Dim line = ceildiv(c.extent, step.const_value()), most_line = ceildiv(c.most, step.const_value());
  out.offset = zero;
  Dim at = zero, elements = ctx.constant(1);
  te::Index source;
  for (size_t k = 0; k < axes.size() - 1; ++k) {
    const HaloAxis& a = axes[k];
    at = at * a.most + a.local;
    elements = elements * a.most;
    Dim q = zero;
    if (!a.most.is_const(1)) {
      q = ctx.index_symbol("q", a.extent);
      out.position.push_back({*q.as_symbol(), a.extent});
    }
    out.offset = out.offset * a.most + q;
    source.push_back(a.base + q);
    if (!b->guarded[k]) continue;
    for (Scalar within : {expr::less_equal(zero, source[k]), expr::less(source[k], b->tensor->shape[k])})
      out.inside = out.inside ? expr::logical_and(out.inside, within) : within;
  }
  const int64_t n = step.const_value();
  at = (at * n + mod(c.local, n)) * most_line + floordiv(c.local, n);
  elements = elements * n * most_line;
  Dim part = ctx.index_symbol("f", step), q = ctx.index_symbol("q", line), first = c.base;
  if (n > 1) {
    out.position.push_back({*part.as_symbol(), step});
    out.offset = out.offset * n + part;
    first = first + part;
  }
  out.position.push_back({*q.as_symbol(), line});
  out.offset = out.offset * most_line + q;
  source.push_back(first + q * n);
  out.before = min(max(zero, ceildiv(-first, n)), line);
  out.within = max(zero, min(ceildiv(b->tensor->shape[*col_axis] - first, n), line) - out.before);
  out.input = b->tensor->id;
  const Scalar element = (*b->tensor)(source);
  out.source = expr::substitute(b->element, {}, [&](Scalar l) { return l == b->load ? element : l; });
  out.elements = element_count(ctx, b->tensor->shape);
  out.buffer.id = ctx.fresh_tensor();
  out.buffer.name = "halo_tile";
  out.buffer.dtype = b->element->dtype;
  out.buffer.shape = {elements + lanes};  // the fill writes whole vectors
  out.buffer.scope = loop::Scope::Scratch;
  out.body = replace_scalar(g.body, b->element, expr::make_load(ctx, out.buffer.id, b->element->dtype, {at}));
  return out;
}

loop::StmtPtr fill_halo_tile(expr::Context& ctx, const HaloTile& tile, int64_t lanes) {
  const Loop& col = tile.position.back();
  auto store = [&](Dim at, Scalar value) {
    const expr::DimMap map{{col.var, at}};
    return loop::make_store(tile.buffer.id, {expr::substitute(tile.offset, map)}, expr::substitute(value, map));
  };
  auto vector = [&](Dim first, Scalar value) {
    Dim l = ctx.index_symbol("l", ctx.constant(lanes));
    return loop::make_for(*l.as_symbol(), ctx.constant(lanes), loop::ForKind::Vector, store(first + l, value));
  };
  // Whole vectors: what lies behind the end is written later, or is nobody's.
  auto vectors = [&](Dim first, Dim count, Scalar value) {
    Dim v = ctx.index_symbol("v", count);
    return loop::make_for(*v.as_symbol(), count, loop::ForKind::Serial, vector(first + v * lanes, value));
  };
  Dim zero = ctx.constant(0), n = ctx.constant(lanes), end = tile.before + tile.within, rest = mod(tile.within, lanes);
  Dim l = ctx.index_symbol("l", n), whole = ceildiv(tile.within, lanes);
  loop::StmtPtr few = loop::make_for(*l.as_symbol(), n, loop::ForKind::Vector,
                                     loop::make_if(expr::less(l, tile.within), store(tile.before + l, tile.source)));
  loop::StmtPtr last = loop::make_if(expr::less_equal(n, tile.within), vector(end - lanes, tile.source), few);
  loop::StmtPtr exact = loop::make_block(
      {vectors(tile.before, floordiv(tile.within, lanes), tile.source), loop::make_if(expr::less(zero, rest), last)});
  // All but the last lines of the input are followed by others, which whole vectors may read.
  Dim highest = zero;
  for (Scalar load : expr::loads_of(tile.source))
    if (load->tensor == tile.input) highest = expr::substitute(load->index[0], {{col.var, tile.before + whole * lanes - 1}});
  loop::StmtPtr inner = loop::make_if(expr::less(highest, tile.elements), vectors(tile.before, whole, tile.source), exact);
  loop::StmtPtr line = loop::make_block({vectors(zero, ceildiv(tile.before, lanes), tile.border), inner,
                                         vectors(end, ceildiv(col.extent - end, lanes), tile.border)});
  if (tile.inside) line = loop::make_if(tile.inside, line, vectors(zero, ceildiv(col.extent, lanes), tile.border));
  return wrap_loops({tile.position.begin(), tile.position.end() - 1}, loop::ForKind::Serial, line);
}

}  // namespace pliant::lower
