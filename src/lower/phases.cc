// With o = s*q + r and k = k0 + m*j, where k0 is the first tap that exists at rest r and m the distance to the next,
//   sum over k of [(o + pad - k*d) mod s == 0] x[floor((o + pad - k*d) / s)] * w[k]
// becomes, for each r, a convolution of stride 1 over j whose results lie s apart.
#include "lower/phases.h"

#include <algorithm>
#include <numeric>

#include "lower/contraction.h"
#include "lower/padding.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

namespace {

constexpr int64_t kMostPhases = 64;

// One axis of the output in steps of `stride`, with the axis of the reduction that is tied to it.
struct Phased {
  size_t output, tap;               // positions in index and reduce_index
  int64_t stride, taps;             // taps: extent of the reduction axis
  int64_t by_output, by_tap, rest;  // the taps that exist: by_output * o + by_tap * k + rest is a multiple of stride
};

// `term` as mod(e, s) == 0.
std::optional<std::pair<Dim, int64_t>> multiple_of(Scalar term) {
  if (term->kind != expr::ScalarKind::Binary || term->binary() != expr::BinaryOp::Eq) return std::nullopt;
  Scalar left = term->args[0], right = term->args[1];
  auto is_zero = [](Scalar s) {
    return (s->kind == expr::ScalarKind::Const && s->bits == 0) ||
           (s->kind == expr::ScalarKind::Index && s->index[0].is_const(0));
  };
  if (is_zero(left)) std::swap(left, right);
  if (!is_zero(right) || left->kind != expr::ScalarKind::Index) return std::nullopt;
  const expr::DimNode* d = left->index[0].node();
  if (d->terms.size() != 1 || d->terms[0].second != 1 || d->terms[0].first->factors.size() != 1) return std::nullopt;
  auto [atom, power] = d->terms[0].first->factors[0];
  if (atom->kind != expr::AtomKind::Mod || power != 1 || !atom->args[1].is_const()) return std::nullopt;
  return std::pair{atom->args[0], atom->args[1].const_value()};
}

std::optional<Phased> phased_axis(expr::Context& ctx, const te::TensorDef& t, Scalar term) {
  auto multiple = multiple_of(term);
  if (!multiple || multiple->second < 2) return std::nullopt;
  auto [e, stride] = *multiple;
  // The one variable of `vars` in e, and its coefficient.
  auto only = [&](const std::vector<SymbolId>& vars) -> std::optional<std::pair<size_t, int64_t>> {
    std::optional<std::pair<size_t, int64_t>> found;
    for (size_t i = 0; i < vars.size(); ++i) {
      if (!expr::uses_symbol(e, vars[i])) continue;
      auto c = expr::coefficient_of(e, vars[i]);
      if (found || !c || !c->is_const()) return std::nullopt;
      found = {i, c->const_value()};
    }
    return found;
  };
  auto o = only(t.index), k = only(t.reduce_index);
  if (!o || !k || !t.reduce_extent[k->first].is_const()) return std::nullopt;
  Dim zero = ctx.constant(0);
  Dim rest = expr::substitute(e, {{t.index[o->first], zero}, {t.reduce_index[k->first], zero}});
  if (!rest.is_const()) return std::nullopt;
  return Phased{o->first,  k->first,          stride, t.reduce_extent[k->first].const_value(), o->second,
                k->second, rest.const_value()};
}

// Whether the windows of the inputs lie side by side and cover the output: the tap is the rest of the position.
bool tiles_output(expr::Context& ctx, const te::TensorDef& t, const std::vector<Phased>& axes) {
  return std::all_of(axes.begin(), axes.end(), [&](const Phased& x) {
    return x.taps == x.stride && (x.by_output - 1) % x.stride == 0 && (x.by_tap + 1) % x.stride == 0 &&
           x.rest % x.stride == 0 && ctx.divisible(t.shape[x.output], x.stride);
  });
}

struct Phases {
  size_t root;
  Scalar guard, body;  // what is left of the guard, null where nothing is
  std::vector<Phased> axes;
};

std::optional<Phases> find_phases(const Problem& p, const StageList& list) {
  for (const Stage& s : list.stages)
    if (s.tensor->kind == te::Kind::Scatter || s.tensor->kind == te::Kind::Scan) return std::nullopt;
  for (size_t i = list.stages.size(); i-- > 0;) {
    const Stage& s = list.stages[i];
    const te::TensorDef& t = *s.tensor;
    if (t.kind != te::Kind::Reduce) continue;
    if (is_arg(t.combiner) || !make_epilogue(p.ctx, list, i)) return std::nullopt;
    Guarded g = split_guard(p.ctx, s.body, t.combiner, t.accumulate);
    if (!g.guard) return std::nullopt;
    Phases out{i, {}, g.body, {}};
    int64_t count = 1;
    for (Scalar term : conjuncts_of(g.guard)) {
      if (auto axis = phased_axis(p.ctx, t, term)) {
        for (const Phased& other : out.axes)
          if (other.output == axis->output || other.tap == axis->tap) return std::nullopt;
        count = std::min(kMostPhases + 1, count * std::min(axis->stride, kMostPhases + 1));
        out.axes.push_back(*axis);
      } else {
        out.guard = out.guard ? expr::logical_and(out.guard, term) : term;
      }
    }
    if (out.axes.empty()) return std::nullopt;
    if (count > kMostPhases && !tiles_output(p.ctx, t, out.axes)) return std::nullopt;
    return out;
  }
  return std::nullopt;
}

// The sum over the outputs that leave `rests`, with what is done to it.
struct Phase {
  Stage stage;
  Epilogue epilogue;
};
// `sum` in the place of `t`, whose index `map_of` gives for one of `sum`.
Phase finish_phase(expr::Context& ctx, const te::TensorDef& t, const te::Tensor& sum, const Epilogue& e,
                   const std::function<expr::DimMap(const te::Index&)>& map_of) {
  te::Index at;
  for (SymbolId v : sum->index) at.push_back(ctx.symbol_dim(v));
  const expr::DimMap map = map_of(at);
  Phase out{{sum, sum->body, {}, {}, false}, {}};
  out.epilogue.outputs = e.outputs;
  for (Scalar v : e.values)
    out.epilogue.values.push_back(expr::substitute(
        v, map, [&](Scalar l) { return l->tensor == t.id ? expr::make_load(ctx, sum->id, t.dtype, at) : l; }));
  for (const std::vector<Dim>& index : e.index) {
    std::vector<Dim>& moved = out.epilogue.index.emplace_back();
    for (Dim d : index) moved.push_back(expr::substitute(d, map));
  }
  return out;
}

Phase make_phase(const Problem& p, const Stage& s, const Phases& phases, const Epilogue& e,
                 const std::vector<int64_t>& rests) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  std::vector<Dim> shape = t.shape, extent = t.reduce_extent;
  std::vector<int64_t> first(t.reduce_index.size(), 0), step(t.reduce_index.size(), 1);
  for (size_t a = 0; a < phases.axes.size(); ++a) {
    const Phased& x = phases.axes[a];
    shape[x.output] = ceildiv(max(ctx.constant(0), t.shape[x.output] - rests[a]), x.stride);
    int64_t apart = x.stride / std::gcd(x.by_tap, x.stride), k = 0;
    auto exists = [&] { return (x.by_output * rests[a] + x.by_tap * k + x.rest) % x.stride == 0; };
    while (k < apart && !exists()) ++k;
    first[x.tap] = k;
    step[x.tap] = apart;
    extent[x.tap] = ctx.constant(k == apart || k >= x.taps ? 0 : (x.taps - k + apart - 1) / apart);
  }
  auto output_map = [&](const te::Index& o) {
    expr::DimMap map;
    for (size_t i = 0; i < o.size(); ++i) map[t.index[i]] = o[i];
    for (size_t a = 0; a < phases.axes.size(); ++a) {
      const Phased& x = phases.axes[a];
      map[t.index[x.output]] = o[x.output] * x.stride + rests[a];
    }
    return map;
  };
  te::Tensor sum = p.te.reduce(t.name + "_phase", shape, extent, t.combiner, [&](const te::Index& o, const te::Index& r) {
    expr::DimMap map = output_map(o);
    for (size_t i = 0; i < r.size(); ++i) map[t.reduce_index[i]] = r[i] * step[i] + first[i];
    Scalar body = expr::substitute(phases.body, map);
    if (!phases.guard) return body;
    return expr::make_select(expr::substitute(phases.guard, map), expr::make_cast(t.accumulate, body),
                             identity_of(ctx, t.combiner, t.accumulate));
  });
  return finish_phase(ctx, t, sum, e, output_map);
}

// One sum for all: the rests are axes of their own, in front; the innermost is one with the last axis where that has a
// known size, so that few channels make a vector together.
Phase make_tiled(const Problem& p, const Stage& s, const Phases& phases, const Epilogue& e) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  const Dim last = t.shape.back();
  std::vector<Phased> axes = phases.axes;
  std::sort(axes.begin(), axes.end(), [](const Phased& a, const Phased& b) { return a.output < b.output; });
  const bool merges = last.is_const() && !last.is_const(0) && axes.back().output + 1 != t.shape.size();
  const size_t front = axes.size() - (merges ? 1 : 0);
  std::vector<Dim> shape, extent = t.reduce_extent;
  for (size_t a = 0; a < front; ++a) shape.push_back(ctx.constant(axes[a].stride));
  shape.insert(shape.end(), t.shape.begin(), t.shape.end());
  for (const Phased& x : axes) {
    shape[front + x.output] = floordiv(t.shape[x.output], x.stride);
    extent[x.tap] = ctx.constant(1);
  }
  if (merges) shape.back() = last * axes.back().stride;
  auto map_of = [&](const te::Index& o) {
    expr::DimMap map;
    for (size_t i = 0; i < t.index.size(); ++i) map[t.index[i]] = o[front + i];
    if (merges) map[t.index.back()] = mod(o.back(), last);
    for (size_t a = 0; a < axes.size(); ++a) {
      Dim rest = a < front ? o[a] : floordiv(o.back(), last);
      map[t.index[axes[a].output]] = o[front + axes[a].output] * axes[a].stride + rest;
      map[t.reduce_index[axes[a].tap]] = rest;
    }
    return map;
  };
  te::Tensor sum = p.te.reduce(t.name + "_tiled", shape, extent, t.combiner, [&](const te::Index& o, const te::Index& r) {
    expr::DimMap map = map_of(o);
    for (size_t i = 0; i < r.size(); ++i) map.emplace(t.reduce_index[i], r[i]);
    Scalar body = expr::substitute(phases.body, map);
    if (!phases.guard) return body;
    return expr::make_select(expr::substitute(phases.guard, map), expr::make_cast(t.accumulate, body),
                             identity_of(ctx, t.combiner, t.accumulate));
  });
  return finish_phase(ctx, t, sum, e, map_of);
}

}  // namespace

bool has_phases(const Problem& p, const StageList& list) { return find_phases(p, list).has_value(); }

Result<LoweredNode> lower_phases(const Problem& p, const StageList& list) {
  Phases phases = *find_phases(p, list);
  const Stage& s = list.stages[phases.root];
  LoweredNode out;
  Temporaries temporaries;
  for (size_t i = 0; i < phases.root; ++i) {
    if (!list.stages[i].is_output) {
      temporaries[list.stages[i].tensor->id] = static_cast<int32_t>(out.temporaries.size());
      out.temporaries.push_back({list.stages[i].tensor->dtype, list.stages[i].tensor->shape});
    }
    out.kernels.push_back(TRY(lower_single_stage(p, list, list.stages[i], temporaries)));
  }
  Epilogue e = *make_epilogue(p.ctx, list, phases.root);
  auto lower = [&](const Phase& phase) -> Status {
    StageList local = list;
    local.add(phase.stage.tensor);
    const bool has_taps = std::none_of(phase.stage.tensor->reduce_extent.begin(), phase.stage.tensor->reduce_extent.end(),
                                       [](Dim d) { return d.is_const(0); });
    if (has_taps && is_product(p, local, phase.stage, phase.epilogue))
      return lower_product(p, local, phase.stage, phase.epilogue, temporaries, out);
    out.kernels.push_back(TRY(lower_reduce_with(p, local, phase.stage, phase.epilogue, temporaries)));
    return ok();
  };
  if (tiles_output(p.ctx, *s.tensor, phases.axes)) {
    TRY(lower(make_tiled(p, s, phases, e)));
    return out;
  }
  std::vector<int64_t> rests(phases.axes.size(), 0);
  for (;;) {
    TRY(lower(make_phase(p, s, phases, e, rests)));
    size_t a = 0;
    while (a < rests.size() && ++rests[a] == phases.axes[a].stride) rests[a++] = 0;
    if (a == rests.size()) return out;
  }
}

}  // namespace pliant::lower
