#include "lower/movement/runs.h"

#include <algorithm>

namespace pliant::lower {

namespace {

// A stride that broadcasting puts to 0.
bool may_vanish(expr::Context& ctx, Dim stride) {
  for (const auto& term : stride->terms)
    for (const auto& factor : term.first->factors) {
      if (factor.first->kind != expr::AtomKind::Max) continue;
      Dim d = expr::max(factor.first->args[0], factor.first->args[1]);
      expr::Interval r = ctx.range(d);
      if (factor.first->args.size() == 2 && r.lo == 0 && r.hi == 1) return true;
    }
  return false;
}

// Every offset once, with its strides along the loops; nothing when one is not linear in them.
struct Offset {
  Dim whole;
  std::vector<Dim> strides;
  Dim rest;
};
std::optional<std::vector<Offset>> linear_offsets(expr::Context& ctx, const Nest& nest) {
  std::vector<Offset> out;
  expr::DimMap at_zero;
  for (const Loop& l : nest.loops) at_zero[l.var] = ctx.constant(0);
  for (Dim d : all_offsets(nest)) {
    if (std::any_of(out.begin(), out.end(), [&](const Offset& o) { return o.whole == d; })) continue;
    if (!expr::loads_of(expr::make_index(d)).empty()) return std::nullopt;
    Offset o{d, {}, expr::substitute(d, at_zero)};
    for (const Loop& l : nest.loops) {
      std::optional<Dim> stride = stride_in(ctx, d, l.var);
      if (!stride) return std::nullopt;
      for (const Loop& other : nest.loops)
        if (expr::uses_symbol(*stride, other.var)) return std::nullopt;
      o.strides.push_back(*stride);
    }
    out.push_back(std::move(o));
  }
  return out;
}

using loop::Lets;

Dim select(Scalar cond, Dim then, Dim otherwise) {
  if (then == otherwise) return then;
  return expr::value(expr::make_select(cond, expr::make_index(then), expr::make_index(otherwise)));
}

Scalar logical_or(Scalar a, Scalar b) { return expr::make_binary(expr::BinaryOp::Or, a, b); }

// Where a stride is 0 or 1: what a run's steps are declared to be.
Scalar is_step(expr::Context& ctx, Dim stride) {
  return expr::logical_and(expr::less_equal(ctx.constant(0), stride), expr::less_equal(stride, ctx.constant(1)));
}

// What is decided about a nest before its runs.
struct Merged {
  std::vector<Dim> extents;  // of the loops outside the last; 1 where merged
  Dim length;                // of a run
  std::vector<Dim> steps;    // of each offset along a run: 0 or 1
};

// From the innermost loop outwards: a loop joins the run where it has one iteration, where the run has one element, or where
// every offset goes on behind the run's end.
Merged merge(expr::Context& ctx, const Nest& nest, const std::vector<Offset>& offsets, Lets& lets) {
  const size_t last = nest.loops.size() - 1;
  Merged m;
  m.extents.resize(last);
  m.length = nest.loops[last].extent;
  for (const Offset& o : offsets) m.steps.push_back(lets.add("step", o.strides[last], 0, 1));
  Dim inner = nest.loops[last].extent;  // iterations of all loops up to here, which the run has where it is whole
  Dim whole = ctx.constant(1);          // all loops up to here have joined
  for (size_t j = last; j-- > 0;) {
    const Dim extent = nest.loops[j].extent;
    Scalar goes_on = expr::make_const_bits(ctx, DType::Bool, 1), steps = goes_on;
    for (size_t k = 0; k < offsets.size(); ++k) {
      const Dim stride = offsets[k].strides[j];
      if (!(stride == m.steps[k] * inner)) goes_on = expr::logical_and(goes_on, expr::equal(stride, m.steps[k] * inner));
      if (!(stride == inner)) steps = expr::logical_and(steps, is_step(ctx, stride));
    }
    // A run of one element takes the strides of this loop for its steps.
    Scalar begins = expr::logical_and(expr::equal(inner, ctx.constant(1)), steps);
    Scalar joins = logical_or(expr::equal(extent, ctx.constant(1)), logical_or(goes_on, begins));
    whole = lets.add("whole",
                     select(expr::logical_and(expr::equal(whole, ctx.constant(1)), joins), ctx.constant(1), ctx.constant(0)),
                     0, 1);
    Scalar joined = expr::equal(whole, ctx.constant(1));
    m.extents[j] = lets.add("outer", select(joined, ctx.constant(1), extent), 1);
    m.length = lets.add("length", select(joined, m.length * extent, m.length), 1);
    for (size_t k = 0; k < offsets.size(); ++k) {
      const Dim stride = offsets[k].strides[j];
      if (stride == inner && m.steps[k].is_const(1)) continue;
      m.steps[k] = lets.add("step", select(expr::logical_and(joined, begins), stride, m.steps[k]), 0, 1);
    }
    inner = inner * extent;
  }
  return m;
}

// The innermost loop outside a run that did not join it.
struct Near {
  Dim extent;
  std::vector<Dim> strides;  // of each offset
  std::vector<Dim> others;   // extents of the loops outside it; 1 for it and those inside
};
Near nearest(expr::Context& ctx, const Nest& nest, const std::vector<Offset>& offsets, const Merged& m, Lets& lets) {
  const Dim one = ctx.constant(1);
  const size_t last = nest.loops.size() - 1;
  Near n{m.extents[last - 1], {}, m.extents};
  for (const Offset& o : offsets) n.strides.push_back(o.strides[last - 1]);
  n.others[last - 1] = one;
  for (size_t j = last - 1; j-- > 0;) {
    const Scalar free = expr::equal(n.extent, one);
    for (size_t k = 0; k < offsets.size(); ++k)
      // Of either sign: only along the innermost loop are steps proved.
      n.strides[k] = lets.add("stride", select(free, offsets[k].strides[j], n.strides[k]), INT64_MIN, expr::kNoLimit);
    n.others[j] = lets.add("others", select(free, one, m.extents[j]), 1);
    n.extent = lets.add("near", select(free, m.extents[j], n.extent), 1);
  }
  return n;
}

// The divisor of a floordiv or mod of the loop's variable that divides the loop's extent evenly.
std::optional<Dim> even_divisor(expr::Context& ctx, const Nest& nest, const Loop& l, int64_t lanes) {
  const Dim var = ctx.symbol_dim(l.var);
  for (Dim d : all_offsets(nest))
    for (const auto& term : d->terms)
      for (const auto& factor : term.first->factors) {
        const expr::Atom& a = *factor.first;
        if (a.kind != expr::AtomKind::Mod && a.kind != expr::AtomKind::FloorDiv) continue;
        const bool is_short = a.args[1].is_const() && a.args[1].const_value() < lanes;
        if (!(a.args[0] == var) || is_short || a.args[1] == l.extent) continue;
        if (ctx.divide_exact(l.extent, a.args[1])) return a.args[1];
      }
  return std::nullopt;
}

// The nest of one run: a loop over `along`, along which offset k goes from bases[k] in steps[k].
struct Along {
  Dim var, extent;
};
Nest nest_of_run(expr::Context& ctx, const Nest& nest, const std::vector<Offset>& offsets, const std::vector<Dim>& bases,
                 const std::vector<Dim>& steps, const Along& along) {
  auto linear = [&](Dim whole) {
    for (size_t k = 0; k < offsets.size(); ++k)
      if (offsets[k].whole == whole) return bases[k] + along.var * steps[k];
    PLIANT_CHECK(false) << "an offset that is not of the nest";
    return Dim();
  };
  Nest flat;
  flat.loops = {{*along.var.as_symbol(), along.extent}};
  for (Scalar s : nest.scalars)
    flat.scalars.push_back(
        expr::substitute(s, {}, [&](Scalar l) { return expr::make_load(ctx, l->tensor, l->dtype, {linear(l->index[0])}); }));
  for (Dim d : nest.offsets) flat.offsets.push_back(linear(d));
  return flat;
}

// Steps that are known in a part of a kernel's runs, and when they are these.
struct Known {
  Scalar when;
  std::vector<Dim> steps;
};
// What steps that the run decides mostly are: all 1, or one of them 0. At most one holds. None where there is nothing to
// decide, or where an element costs so much that selections between one element and a vector of them do not count.
std::vector<Known> known_steps(expr::Context& ctx, const Nest& nest, const std::vector<Dim>& steps) {
  constexpr int64_t kCheap = 16;
  constexpr size_t kMostOpen = 3;
  int64_t cost = 0;
  for (Scalar s : nest.scalars) cost += cost_of(s);
  std::vector<Dim> open;
  for (Dim d : steps)
    if (!d.is_const() && std::find(open.begin(), open.end(), d) == open.end()) open.push_back(d);
  if (cost > kCheap || open.empty()) return {};
  std::vector<Known> out;
  for (size_t zero = open.size() + 1; zero-- > 0;) {  // open.size(): none of them
    if (zero < open.size() && open.size() > kMostOpen) break;
    Known known;
    for (size_t k = 0; k < open.size(); ++k) {
      const Scalar is = expr::equal(open[k], ctx.constant(k == zero ? 0 : 1));
      known.when = known.when ? expr::logical_and(known.when, is) : is;
    }
    for (Dim d : steps) {
      const bool vanishes = zero < open.size() && d == open[zero];
      known.steps.push_back(d.is_const() ? d : ctx.constant(vanishes ? 0 : 1));
    }
    out.push_back(std::move(known));
  }
  return out;
}

// What a task does, in parts that have the same elements of each of their runs: where runs are no longer than a task, one
// part of the runs that begin in the task's points, each whole; else one part a run, of its elements among those points.
struct Parts {
  Dim var, parts;
  Dim first_run, end_run;
  Dim from, count;  // of each run
};
Parts parts_of(expr::Context& ctx, Dim total, int64_t chunk, Dim task, Dim length, Lets& lets, Lets& at_part) {
  const Dim zero = ctx.constant(0), one = ctx.constant(1);
  const Dim first = lets.add("first", task * chunk);
  const Dim end = lets.add("end", min(total, first + chunk));
  const Scalar is_short = expr::less_equal(length, ctx.constant(chunk));
  const Dim begins = lets.add("run", floordiv(first + select(is_short, length - 1, zero), length));
  const Dim ends = lets.add("end_run", ceildiv(end, length));
  const Dim parts = lets.add("parts", select(is_short, one, ends - begins), 1);
  const Dim p = ctx.index_symbol("p", parts);
  const Dim first_run = at_part.add("run", begins + p);
  const Dim end_run = at_part.add("part_end", select(is_short, ends, first_run + 1));
  const Dim from = at_part.add("from", select(is_short, zero, max(first - first_run * length, zero)));
  const Dim count = select(is_short, length, min(end - first_run * length, length) - from);
  return {p, parts, first_run, end_run, from, at_part.add("count", count, 1, chunk)};
}

}  // namespace

void split_repeats(expr::Context& ctx, Nest& nest, int64_t lanes) {
  for (size_t i = 0; i < nest.loops.size(); ++i) {
    const Loop l = nest.loops[i];
    const std::optional<Dim> inner = even_divisor(ctx, nest, l, lanes);
    if (!inner) continue;
    const Dim outer = *ctx.divide_exact(l.extent, *inner);
    const Dim o = ctx.index_symbol("o", outer), j = ctx.index_symbol("i", *inner);
    substitute(nest, {{l.var, o * *inner + j}});
    nest.loops[i] = {*j.as_symbol(), *inner};
    nest.loops.insert(nest.loops.begin() + static_cast<long>(i), Loop{*o.as_symbol(), outer});
    --i;  // the outer part may be divisible again
  }
}

bool merges_at_run_time(expr::Context& ctx, const Nest& nest, int64_t lanes) {
  if (nest.loops.size() < 2) return false;
  for (Scalar s : nest.scalars)
    for (const Loop& l : nest.loops)
      if (uses_as_value(s, l.var)) return false;
  std::optional<std::vector<Offset>> offsets = linear_offsets(ctx, nest);
  if (!offsets) return false;
  const size_t last = nest.loops.size() - 1;
  const Dim inner = nest.loops[last].extent;
  bool vanishes = false, repeats = false, ends = false;
  for (const Offset& o : *offsets) {
    expr::Interval step = ctx.range(o.strides[last]);
    if (step.lo < 0 || step.hi > 1) return false;
    // What stays put along all loops is in nobody's way.
    const bool stays = std::all_of(o.strides.begin(), o.strides.end(), [](Dim d) { return d.is_const(0); });
    for (Dim d : o.strides) {
      vanishes = vanishes || may_vanish(ctx, d);
      repeats = repeats || (d.is_const(0) && !stays);
    }
    ends = ends || (o.strides[last].is_const(0) && !o.strides[last - 1].is_const(0));
  }
  // Short rows that never join another are better unrolled.
  if (ends && inner.is_const() && inner.const_value() <= lanes / 2) return false;
  return vanishes || (repeats && !inner.is_const());
}

Runs make_runs(expr::Context& ctx, const Nest& nest, int64_t chunk, int64_t lanes, Tail tail, const MakePoint& point) {
  const std::vector<Offset> offsets = *linear_offsets(ctx, nest);
  const Dim total = product_of(ctx, nest.loops), tasks = ceildiv(total, chunk), task = ctx.index_symbol("t", tasks);
  Lets lets(ctx), at_part(ctx), at_row(ctx), at_run(ctx);
  const Merged m = merge(ctx, nest, offsets, lets);
  const Near near = nearest(ctx, nest, offsets, m, lets);
  const Parts parts = parts_of(ctx, total, chunk, task, m.length, lets, at_part);
  // Rows of runs along the nearest loop: what the other loops add is computed once a row.
  const Dim first_row = at_part.add("row", floordiv(parts.first_run, near.extent));
  const Dim rows = ceildiv(parts.end_run, near.extent) - first_row, q = ctx.index_symbol("q", rows);
  const Dim row = at_row.add("row", first_row + q);
  const Dim from_run = at_row.add("first_run", max(parts.first_run - row * near.extent, ctx.constant(0)));
  const Dim runs = at_row.add("runs", min(near.extent, parts.end_run - row * near.extent) - from_run);
  std::vector<Dim> bases;
  for (size_t k = 0; k < offsets.size(); ++k) bases.push_back(offsets[k].rest + parts.from * m.steps[k]);
  Dim rest = row;
  for (size_t j = near.others.size(); j-- > 0;) {
    if (near.others[j].is_const(1)) continue;
    const Dim index = at_row.add("i", j == 0 ? rest : mod(rest, near.others[j]));
    if (j > 0) rest = at_row.add("rest", floordiv(rest, near.others[j]));
    for (size_t k = 0; k < offsets.size(); ++k) bases[k] = bases[k] + index * offsets[k].strides[j];
  }
  for (Dim& base : bases) base = at_row.add("base", base);
  const Dim r = ctx.index_symbol("r", runs);
  for (size_t k = 0; k < offsets.size(); ++k) bases[k] = at_run.add("at", bases[k] + (from_run + r) * near.strides[k]);
  const Dim v = ctx.index_symbol("i", parts.count);
  std::vector<loop::StmtPtr> body;
  Dim begin = ctx.constant(0), left = parts.count;
  for (const Known& known : known_steps(ctx, nest, m.steps)) {
    const Dim holds = lets.add("known", select(known.when, ctx.constant(1), ctx.constant(0)), 0, 1);
    const Dim vectors = at_part.add("vectors", holds * floordiv(left, lanes), 0, chunk);
    const Nest flat = nest_of_run(ctx, nest, offsets, bases, known.steps, {v, parts.count});
    body.push_back(loop::make_for(ctx, "v", vectors, loop::ForKind::Serial, [&](Dim w) {
      return loop::make_for(ctx, "l", lanes, loop::ForKind::Vector,
                            [&](Dim l) { return point(flat, *v.as_symbol(), begin + w * lanes + l); });
    }));
    begin = begin + vectors * lanes;
    left = at_part.add("left", parts.count - begin, 0, chunk);
  }
  const Nest flat = nest_of_run(ctx, nest, offsets, bases, m.steps, {v, parts.count});
  auto element = [&](Dim at) { return point(flat, *v.as_symbol(), begin + at); };
  body.push_back(make_vector_loop(ctx, left, lanes, element, tail));
  loop::StmtPtr st = at_run.around(loop::make_block(std::move(body)));
  st = at_row.around(loop::make_for(r, runs, loop::ForKind::Serial, st));
  st = at_part.around(loop::make_for(q, rows, loop::ForKind::Serial, st));
  st = loop::make_for(*parts.var.as_symbol(), parts.parts, loop::ForKind::Serial, st);
  return {{*task.as_symbol(), tasks}, lets.around(st)};
}

}  // namespace pliant::lower
