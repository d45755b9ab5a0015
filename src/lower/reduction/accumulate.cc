// The accumulation code that strategies share.
#include "lower/reduction/long_sum.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

loop::Buffer make_local(expr::Context& ctx, const std::string& name, DType t, int64_t elements) {
  loop::Buffer b;
  b.id = ctx.fresh_tensor();
  b.name = name;
  b.dtype = t;
  b.shape = {ctx.constant(elements)};
  b.scope = loop::Scope::Local;
  return b;
}

Scalar finish_value(const te::TensorDef& t, Scalar accumulated) { return expr::make_cast(t.dtype, accumulated); }

namespace {

Scalar load_of(expr::Context& ctx, const loop::Buffer& b, Dim i) { return expr::make_load(ctx, b.id, b.dtype, {i}); }

// A loop over the lanes of an accumulator, split so that the lane count is a multiple of the machine's.
loop::StmtPtr for_lanes(expr::Context& ctx, int64_t lanes, const std::function<loop::StmtPtr(Dim)>& body) {
  Dim l = ctx.index_symbol("l", ctx.constant(lanes));
  return loop::make_for(*l.as_symbol(), ctx.constant(lanes), loop::ForKind::Vector, body(l));
}

std::vector<Dim> extents_of(const std::vector<Loop>& loops) {
  std::vector<Dim> out;
  for (const Loop& l : loops) out.push_back(l.extent);
  return out;
}

loop::StmtPtr guard_with(Scalar guard, loop::StmtPtr s) { return guard ? loop::make_if(guard, std::move(s)) : s; }

}  // namespace

loop::StmtPtr make_reduction(expr::Context& ctx, const Reduction& r, const std::function<loop::StmtPtr(Scalar)>& use) {
  if (is_arg(r.combiner)) return make_arg_reduction(ctx, r, use);
  loop::StoreKind kind = store_kind_of(r.combiner);
  Guarded g = split_guard(ctx, r.body, r.combiner, r.accumulate);
  Dim zero = ctx.constant(0);
  loop::Buffer total = make_local(ctx, "total", r.accumulate, 1);
  Scalar identity = identity_of(ctx, r.combiner, r.accumulate);
  Scalar value = expr::make_cast(r.accumulate, g.body);
  std::vector<loop::StmtPtr> seq{loop::make_store(total.id, {zero}, identity)};
  if (!r.vector || r.loops.empty()) {
    const LongSum sum(ctx, r.combiner, total, 1, extents_of(r.loops));
    loop::StmtPtr add = guard_with(g.guard, loop::make_store(total.id, {zero}, value, kind));
    seq.push_back(sum.versions([&](const LongSum& l) { return l.loops(r.loops, add); }));
    seq.push_back(use(load_of(ctx, total, zero)));
    return loop::make_alloc(total, loop::make_block(std::move(seq)));
  }
  Loop inner = r.loops.back();
  int64_t wide = r.lanes * r.vectors;
  if (auto upper = const_upper(ctx, inner.extent))
    while (wide > 1 && wide / 2 >= *upper) wide /= 2;
  loop::Buffer part = make_local(ctx, "part", r.accumulate, wide);
  std::vector<Loop> outer(r.loops.begin(), r.loops.end() - 1);
  const auto clear = [&] { return for_lanes(ctx, wide, [&](Dim l) { return loop::make_store(part.id, {l}, identity); }); };
  const auto gather = [&] {
    return for_lanes(ctx, wide, [&](Dim l) { return loop::make_store(total.id, {zero}, load_of(ctx, part, l), kind); });
  };
  seq.push_back(clear());
  Dim whole = floordiv(inner.extent, wide), rest = mod(inner.extent, wide);
  auto term = [&](Dim position, Dim lane) {
    expr::DimMap at{{inner.var, position}};
    loop::StmtPtr add = loop::make_store(part.id, {lane}, expr::substitute(value, at), kind);
    return g.guard ? loop::make_if(expr::substitute(g.guard, at), add) : add;
  };
  std::vector<Dim> extents = extents_of(outer);
  extents.push_back(ceildiv(inner.extent, wide));
  LongSum sum(ctx, r.combiner, total, 1, std::move(extents));
  if (sum.is_long()) sum.set_parts(gather(), clear());
  seq.push_back(sum.versions([&](const LongSum& l) {
    std::vector<loop::StmtPtr> sweep;
    if (!whole.is_const(0)) {
      Dim i = ctx.index_symbol("v", whole);
      sweep.push_back(l.at_level(outer.size(), {*i.as_symbol(), whole},
                                 for_lanes(ctx, wide, [&](Dim x) { return term(i * wide + x, x); })));
    }
    if (!rest.is_const(0)) {
      loop::StmtPtr tail =
          for_lanes(ctx, wide, [&](Dim x) { return loop::make_if(expr::less(x, rest), term(whole * wide + x, x)); });
      sweep.push_back(rest.is_const() ? tail : loop::make_if(expr::less(ctx.constant(0), rest), tail));
    }
    return loop::make_block({l.loops(outer, loop::make_block(std::move(sweep))), gather()});
  }));
  seq.push_back(use(load_of(ctx, total, zero)));
  return loop::make_alloc(total, loop::make_alloc(part, loop::make_block(std::move(seq))));
}

}  // namespace pliant::lower
