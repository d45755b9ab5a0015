// With o = s*q + r and k = k0 + m*j, where k0 is the first tap that exists at rest r and m the distance to the next,
//   sum over k of [(o + pad - k*d) mod s == 0] x[floor((o + pad - k*d) / s)] * w[k]
// becomes, for each r, a convolution of stride 1 over j whose results lie s apart.
#include <algorithm>
#include <numeric>

#include "lower/rewrites/rewrite.h"

namespace pliant::lower {

namespace {

constexpr size_t kMostPhases = 256;
constexpr int64_t kMostRests = 4096;  // of one axis

// One axis of the output in steps of `stride`, with the axis of the reduction that is tied to it.
struct Polyphase {
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
  const expr::Atom* atom = expr::as_atom(left->index[0]);
  if (!atom || atom->kind != expr::AtomKind::Mod || !atom->args[1].is_const()) return std::nullopt;
  return std::pair{atom->args[0], atom->args[1].const_value()};
}

std::optional<Polyphase> phased_axis(expr::Context& ctx, const te::TensorDef& t, Scalar term) {
  auto multiple = multiple_of(term);
  if (!multiple || multiple->second < 2 || multiple->second > kMostRests) return std::nullopt;
  auto [e, stride] = *multiple;
  const auto o = only_use(e, t.index), k = only_use(e, t.reduce_index);
  if (!o || !k || !t.reduce_extent[k->at].is_const()) return std::nullopt;
  Dim zero = ctx.constant(0);
  Dim rest = expr::substitute(e, {{t.index[o->at], zero}, {t.reduce_index[k->at], zero}});
  if (!rest.is_const()) return std::nullopt;
  const int64_t taps = t.reduce_extent[k->at].const_value();
  return Polyphase{o->at, k->at, stride, taps, o->coefficient, k->coefficient, rest.const_value()};
}

// Rests that follow each other, with taps that do as well, so that all read the same inputs: one sum computes them together.
struct Run {
  int64_t rest, count;  // the rests
  int64_t tap, taps;    // the first tap of the first rest, and how many each has; the next rest begins `slope` taps later
  Dim size;             // outputs at each rest
};

// Where the tap moves by this with the output, both reach the same input.
std::optional<int64_t> slope_of(const Polyphase& x) {
  if (x.by_tap == 0 || x.by_output % x.by_tap != 0) return std::nullopt;
  return -x.by_output / x.by_tap;
}
int64_t distance_of_taps(const Polyphase& x) { return x.stride / std::gcd(x.by_tap, x.stride); }

std::vector<Run> runs_of(expr::Context& ctx, const te::TensorDef& t, const Polyphase& x) {
  const Dim size = t.shape[x.output];
  const bool whole = ctx.divisible(size, x.stride);
  const int64_t apart = distance_of_taps(x);
  const auto slope = slope_of(x);
  std::vector<Run> out;
  for (int64_t rest = 0; rest < x.stride; ++rest) {
    int64_t k = 0;
    while (k < apart && (x.by_output * rest + x.by_tap * k + x.rest) % x.stride != 0) ++k;
    Run run{rest, 1, k, k == apart || k >= x.taps ? 0 : (x.taps - k + apart - 1) / apart, {}};
    run.size = whole ? floordiv(size, x.stride) : ceildiv(max(ctx.constant(0), size - rest), x.stride);
    if (!out.empty()) {
      Run& last = out.back();
      const bool follows = run.taps == 0 || (slope && run.tap == last.tap + *slope * last.count);
      if (follows && run.taps == last.taps && run.size == last.size) {
        ++last.count;
        continue;
      }
    }
    out.push_back(run);
  }
  return out;
}

struct Phases {
  size_t root;
  Scalar guard, body;           // what is left of the guard, null where nothing is
  std::vector<Polyphase> axes;  // in the order of the output's
  std::vector<std::vector<Run>> runs;
};

std::optional<Phases> find_phases(const Problem& p, const StageList& list) {
  const auto root = last_reduction(p.ctx, list);
  if (!root) return std::nullopt;
  const Stage& s = list.stages[*root];
  const te::TensorDef& t = *s.tensor;
  if (is_arg(t.combiner)) return std::nullopt;
  Guarded g = split_guard(p.ctx, s.body, t.combiner, t.accumulate);
  if (!g.guard) return std::nullopt;
  Phases out{*root, {}, g.body, {}, {}};
  std::vector<Scalar> guard;
  for (Scalar term : expr::conjuncts_of(g.guard)) {
    const auto axis = phased_axis(p.ctx, t, term);
    if (!axis) {
      guard.push_back(term);
      continue;
    }
    for (const Polyphase& other : out.axes)
      if (other.output == axis->output || other.tap == axis->tap) return std::nullopt;
    out.axes.push_back(*axis);
  }
  out.guard = expr::conjunction(guard);
  if (out.axes.empty()) return std::nullopt;
  std::sort(out.axes.begin(), out.axes.end(), [](const Polyphase& a, const Polyphase& b) { return a.output < b.output; });
  size_t count = 1;
  for (const Polyphase& axis : out.axes) {
    out.runs.push_back(runs_of(p.ctx, t, axis));
    count *= out.runs.back().size();
    if (count > kMostPhases) return std::nullopt;
  }
  return out;
}

// The sum over the outputs of one run for each axis, with what is done to it.
// Runs of several rests are axes of the sum, in front. With `merges` the innermost is one with the last axis, of known size,
// so that few channels make a vector together.
Recast make_phase(const Problem& p, const Stage& s, const Phases& phases, const Epilogue& e, const std::vector<Run>& runs,
                  bool merges) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  const Dim last = t.shape.back();
  std::vector<Dim> shape, extent = t.reduce_extent;
  for (size_t a = 0; a + (merges ? 1 : 0) < runs.size(); ++a)
    if (runs[a].count > 1) shape.push_back(ctx.constant(runs[a].count));
  const size_t front = shape.size();
  shape.insert(shape.end(), t.shape.begin(), t.shape.end());
  for (size_t a = 0; a < runs.size(); ++a) {
    shape[front + phases.axes[a].output] = runs[a].size;
    extent[phases.axes[a].tap] = ctx.constant(runs[a].taps);
  }
  if (merges) shape.back() = last * runs.back().count;
  // The position in its run, for each axis.
  auto rests_of = [&](const te::Index& o) {
    std::vector<Dim> rests;
    for (size_t a = 0, at = 0; a < runs.size(); ++a) {
      if (merges && a + 1 == runs.size())
        rests.push_back(floordiv(o.back(), last));
      else
        rests.push_back(runs[a].count > 1 ? o[at++] : ctx.constant(0));
    }
    return rests;
  };
  auto output_map = [&](const te::Index& o) {
    expr::DimMap map;
    for (size_t i = 0; i < t.index.size(); ++i) map[t.index[i]] = o[front + i];
    if (merges) map[t.index.back()] = mod(o.back(), last);
    std::vector<Dim> rests = rests_of(o);
    for (size_t a = 0; a < runs.size(); ++a) {
      const Polyphase& x = phases.axes[a];
      map[t.index[x.output]] = o[front + x.output] * x.stride + runs[a].rest + rests[a];
    }
    return map;
  };
  te::Tensor sum = p.te.reduce(t.name + "_phase", shape, extent, t.combiner, [&](const te::Index& o, const te::Index& r) {
    expr::DimMap map = output_map(o);
    for (size_t i = 0; i < r.size(); ++i) map[t.reduce_index[i]] = r[i];
    std::vector<Dim> rests = rests_of(o);
    for (size_t a = 0; a < runs.size(); ++a) {
      const Polyphase& x = phases.axes[a];
      Dim k = runs[a].taps == 1 ? ctx.constant(0) : r[x.tap] * distance_of_taps(x);
      map[t.reduce_index[x.tap]] = k + runs[a].tap + rests[a] * slope_of(x).value_or(0);
    }
    Scalar body = expr::substitute(phases.body, map);
    if (!phases.guard) return body;
    return expr::make_select(expr::substitute(phases.guard, map), expr::make_cast(t.accumulate, body),
                             identity_of(ctx, t.combiner, t.accumulate));
  });
  return recast(ctx, t, sum, e, output_map);
}

// The sum for one run of each axis, with its innermost run merged where that makes a product.
RewrittenSum sum_of_runs(const Problem& p, Rewritten& out, const Phases& phases, const Epilogue& e,
                         const std::vector<Run>& runs) {
  using Kernel = RewrittenSum::Kernel;
  const Stage& s = out.list.stages[phases.root];
  const Dim last = s.tensor->shape.back();
  const bool has_taps = std::all_of(runs.begin(), runs.end(), [](const Run& r) { return r.taps > 0; });
  const bool may_merge = has_taps && runs.back().count > 1 && last.is_const() && !last.is_const(0) &&
                         phases.axes.back().output + 1 != s.tensor->shape.size();
  if (may_merge) {
    Recast merged = make_phase(p, s, phases, e, runs, true);
    out.add(merged.stage.tensor);
    if (is_product(p, out.list, merged.stage, merged.epilogue)) return {std::move(merged), Kernel::Product};
  }
  Recast phase = make_phase(p, s, phases, e, runs, false);
  out.add(phase.stage.tensor);
  const bool product = has_taps && is_product(p, out.list, phase.stage, phase.epilogue);
  return {std::move(phase), product ? Kernel::Product : Kernel::Reduction};
}

std::optional<Rewritten> find(const Problem& p, const StageList& list) {
  const std::optional<Phases> phases = find_phases(p, list);
  if (!phases) return std::nullopt;
  Rewritten out{p, list, phases->root};
  const Epilogue e = *make_epilogue(p.ctx, list, phases->root);
  std::vector<size_t> picks(phases->axes.size(), 0);
  for (;;) {
    std::vector<Run> runs;
    for (size_t a = 0; a < picks.size(); ++a) runs.push_back(phases->runs[a][picks[a]]);
    out.sums.push_back(sum_of_runs(p, out, *phases, e, runs));
    size_t a = 0;
    while (a < picks.size() && ++picks[a] == phases->runs[a].size()) picks[a++] = 0;
    if (a == picks.size()) return out;
  }
}

}  // namespace

Rewrite rewrite_polyphase() { return {.name = "polyphase", .before = "contraction", .order = 2, .find = find}; }

}  // namespace pliant::lower
