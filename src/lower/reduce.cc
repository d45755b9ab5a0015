// Reductions as kernels of their own, and the accumulation code that other strategies share.
#include <algorithm>

#include "lower/epilogue.h"
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

loop::StmtPtr guard_with(Scalar guard, loop::StmtPtr s) { return guard ? loop::make_if(guard, std::move(s)) : s; }

}  // namespace

loop::StmtPtr make_serial_arg_reduction(expr::Context& ctx, const Reduction& r, const std::function<loop::StmtPtr(Scalar)>& use) {
  PLIANT_CHECK(r.loops.size() == 1) << "an arg reduction has one axis";
  using expr::BinaryOp;
  DType vt = r.body->dtype;
  loop::Buffer best = make_local(ctx, "best", vt, 1), pos = make_local(ctx, "pos", DType::I64, 1);
  Dim zero = ctx.constant(0), k = ctx.symbol_dim(r.loops[0].var);
  Scalar old = load_of(ctx, best, zero);
  bool is_max = r.combiner == te::Combiner::ArgMax || r.combiner == te::Combiner::ArgMaxLast;
  bool last = r.combiner == te::Combiner::ArgMaxLast || r.combiner == te::Combiner::ArgMinLast;
  BinaryOp op = is_max ? (last ? BinaryOp::Ge : BinaryOp::Gt) : (last ? BinaryOp::Le : BinaryOp::Lt);
  Scalar better = expr::make_binary(op, r.body, old);
  if (is_float(vt)) {  // the first NaN wins, or the last
    Scalar nan = expr::make_unary(expr::UnaryOp::IsNan, r.body), old_nan = expr::make_unary(expr::UnaryOp::IsNan, old);
    Scalar first_nan = last ? nan : expr::logical_and(nan, expr::make_unary(expr::UnaryOp::Not, old_nan));
    better = expr::make_binary(BinaryOp::Or, better, first_nan);
  }
  Dim z = zero;
  loop::StmtPtr take = loop::make_block({loop::make_store(pos.id, {z}, expr::make_index(k)), loop::make_store(best.id, {z}, r.body)});
  loop::StmtPtr scan = loop::make_for(r.loops[0].var, r.loops[0].extent, loop::ForKind::Serial, loop::make_if(better, take));
  loop::StmtPtr init = loop::make_block({loop::make_store(best.id, {z}, identity_of(ctx, r.combiner, vt)),
                                         loop::make_store(pos.id, {z}, expr::make_const_int(ctx, DType::I64, 0))});
  return loop::make_alloc(best, loop::make_alloc(pos, loop::make_block({init, scan, use(load_of(ctx, pos, zero))})));
}

loop::StmtPtr make_reduction(expr::Context& ctx, const Reduction& r, const std::function<loop::StmtPtr(Scalar)>& use) {
  if (is_arg(r.combiner)) return make_serial_arg_reduction(ctx, r, use);
  loop::StoreKind kind = store_kind_of(r.combiner);
  Guarded g = split_guard(ctx, r.body, r.combiner, r.accumulate);
  Dim zero = ctx.constant(0);
  loop::Buffer total = make_local(ctx, "total", r.accumulate, 1);
  Scalar identity = identity_of(ctx, r.combiner, r.accumulate);
  Scalar value = expr::make_cast(r.accumulate, g.body);
  std::vector<loop::StmtPtr> seq{loop::make_store(total.id, {zero}, identity)};
  if (!r.vector || r.loops.empty()) {
    loop::StmtPtr add = guard_with(g.guard, loop::make_store(total.id, {zero}, value, kind));
    seq.push_back(wrap_loops(r.loops, loop::ForKind::Serial, add));
    seq.push_back(use(load_of(ctx, total, zero)));
    return loop::make_alloc(total, loop::make_block(std::move(seq)));
  }
  // Four vectors of partial results hide the latency of the combining operation.
  Loop inner = r.loops.back();
  int64_t wide = r.lanes * 4;
  if (auto upper = const_upper(ctx, inner.extent))
    while (wide > r.lanes && wide / 2 >= *upper) wide /= 2;
  loop::Buffer part = make_local(ctx, "part", r.accumulate, wide);
  std::vector<Loop> outer(r.loops.begin(), r.loops.end() - 1);
  seq.push_back(for_lanes(ctx, wide, [&](Dim l) { return loop::make_store(part.id, {l}, identity); }));
  Dim whole = floordiv(inner.extent, wide), rest = mod(inner.extent, wide);
  auto term = [&](Dim position, Dim lane) {
    expr::DimMap at{{inner.var, position}};
    loop::StmtPtr add = loop::make_store(part.id, {lane}, expr::substitute(value, at), kind);
    return g.guard ? loop::make_if(expr::substitute(g.guard, at), add) : add;
  };
  std::vector<loop::StmtPtr> sweep;
  if (!whole.is_const(0)) {
    Dim i = ctx.index_symbol("v", whole);
    sweep.push_back(loop::make_for(*i.as_symbol(), whole, loop::ForKind::Serial, for_lanes(ctx, wide, [&](Dim l) { return term(i * wide + l, l); })));
  }
  if (!rest.is_const(0)) sweep.push_back(for_lanes(ctx, wide, [&](Dim l) { return loop::make_if(expr::less(l, rest), term(whole * wide + l, l)); }));
  seq.push_back(wrap_loops(outer, loop::ForKind::Serial, loop::make_block(std::move(sweep))));
  seq.push_back(for_lanes(ctx, wide, [&](Dim l) { return loop::make_store(total.id, {zero}, load_of(ctx, part, l), kind); }));
  seq.push_back(use(load_of(ctx, total, zero)));
  return loop::make_alloc(total, loop::make_alloc(part, loop::make_block(std::move(seq))));
}

namespace {

// The stage's loops: outputs first, then the reduction's, each part merged by itself.
struct ReduceNest {
  Nest nest;                         // scalars[0] is the body, scalars[1 + k] the value of outputs[k], stored at offsets[k]
  size_t outer = 0;                  // loops before it are the output's
  expr::TensorId acc = 0;            // stands for the result in the values
  std::vector<te::Tensor> outputs{};
  // The stores of one output position, whose result is `total`.
  loop::StmtPtr make_stores(const te::TensorDef& t, const expr::DimMap& at, Scalar total) const {
    std::vector<loop::StmtPtr> stores;
    for (size_t k = 0; k < outputs.size(); ++k) {
      Scalar value = expr::substitute(nest.scalars[k + 1], at, [&](Scalar l) { return l->tensor == acc ? finish_value(t, total) : l; });
      stores.push_back(loop::make_store(outputs[k]->id, {expr::substitute(nest.offsets[k], at)}, value));
    }
    return loop::make_block(std::move(stores));
  }
};

ReduceNest make_nest(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e) {
  const te::TensorDef& t = *s.tensor;
  ReduceNest out;
  out.acc = p.ctx.fresh_tensor();
  out.outputs = e.outputs;
  for (size_t i = 0; i < t.index.size(); ++i) out.nest.loops.push_back({t.index[i], t.shape[i]});
  out.nest.scalars = {flatten_loads(p.ctx, s.body, list.shapes)};
  for (size_t k = 0; k < e.values.size(); ++k) {
    out.nest.scalars.push_back(flat_epilogue(p.ctx, e.values[k], t, out.acc, list.shapes));
    out.nest.offsets.push_back(flat_offset(p.ctx, e.outputs[k]->shape, e.index[k]));
  }
  collapse(p.ctx, out.nest);
  out.outer = out.nest.loops.size();
  if (is_arg(t.combiner)) {
    out.nest.loops.push_back({t.reduce_index[0], t.reduce_extent[0]});
    return out;
  }
  for (size_t i = 0; i < t.reduce_index.size(); ++i) out.nest.loops.push_back({t.reduce_index[i], t.reduce_extent[i]});
  collapse(p.ctx, out.nest, out.outer);
  return out;
}

// How many of the loads run contiguously, or stay put, along `var`, against those that jump.
int64_t contiguity(expr::Context& ctx, Scalar body, SymbolId var) {
  int64_t score = 0;
  for (Scalar l : expr::loads_of(body)) {
    auto stride = stride_in(ctx, l->index[0], var);
    if (stride && stride->is_const(1)) score += 1;
    else if (!stride || !stride->is_const(0)) score -= 2;
  }
  return score;
}

// Along the output's innermost axis: every output of a vector has an accumulator, and the reduction runs inside.
loop::StmtPtr make_outer_vector(expr::Context& ctx, const Stage& s, const ReduceNest& n, int64_t lanes, Loop inner, Dim begin, Dim length) {
  const te::TensorDef& t = *s.tensor;
  loop::StoreKind kind = store_kind_of(t.combiner);
  Guarded g = split_guard(ctx, n.nest.scalars[0], t.combiner, t.accumulate);
  std::vector<Loop> reduce(n.nest.loops.begin() + static_cast<long>(n.outer), n.nest.loops.end());
  Scalar identity = identity_of(ctx, t.combiner, t.accumulate);
  auto block = [&](Dim base, int64_t wide, Dim valid) {  // valid: null for all lanes
    loop::Buffer acc = make_local(ctx, "acc", t.accumulate, wide);
    Dim at = begin + base;
    auto masked = [&](Dim l, loop::StmtPtr st) { return valid ? loop::make_if(expr::less(l, valid), std::move(st)) : st; };
    loop::StmtPtr init = for_lanes(ctx, wide, [&](Dim l) { return loop::make_store(acc.id, {l}, identity); });
    bool uniform_guard = g.guard && !expr::uses_symbol(g.guard, inner.var);
    loop::StmtPtr add = for_lanes(ctx, wide, [&](Dim l) {
      expr::DimMap m{{inner.var, at + l}};
      loop::StmtPtr st = loop::make_store(acc.id, {l}, expr::make_cast(t.accumulate, expr::substitute(g.body, m)), kind);
      if (g.guard && !uniform_guard) st = loop::make_if(expr::substitute(g.guard, m), st);
      return masked(l, st);
    });
    if (uniform_guard) add = loop::make_if(g.guard, add);
    loop::StmtPtr store = for_lanes(ctx, wide, [&](Dim l) {
      expr::DimMap m{{inner.var, at + l}};
      return masked(l, n.make_stores(t, m, load_of(ctx, acc, l)));
    });
    return loop::make_alloc(acc, loop::make_block({init, wrap_loops(reduce, loop::ForKind::Serial, add), store}));
  };
  std::vector<loop::StmtPtr> parts;
  // Whole blocks of four vectors, then of one, then a masked one.
  int64_t wide = lanes * 4;
  auto upper = const_upper(ctx, length);
  if (upper && *upper < wide) wide = lanes;
  Dim whole = floordiv(length, wide);
  if (!whole.is_const(0)) {
    Dim i = ctx.index_symbol("v", whole);
    parts.push_back(loop::make_for(*i.as_symbol(), whole, loop::ForKind::Serial, block(i * wide, wide, Dim())));
  }
  Dim rest = mod(length, wide);
  if (wide > lanes && !rest.is_const(0)) {
    Dim some = floordiv(rest, lanes);
    if (!some.is_const(0)) {
      Dim i = ctx.index_symbol("v", some);
      parts.push_back(loop::make_for(*i.as_symbol(), some, loop::ForKind::Serial, block(whole * wide + i * lanes, lanes, Dim())));
    }
    Dim last = mod(rest, lanes);
    if (!last.is_const(0)) parts.push_back(loop::make_if(expr::less(ctx.constant(0), last), block(whole * wide + some * lanes, lanes, last)));
  } else if (!rest.is_const(0)) {
    parts.push_back(loop::make_if(expr::less(ctx.constant(0), rest), block(whole * wide, wide, rest)));
  }
  return loop::make_block(std::move(parts));
}

}  // namespace

Result<LoweredKernel> lower_reduce_stage(const Problem& p, const StageList& list, const Stage& s, const Temporaries& temporaries) {
  Epilogue alone;
  std::vector<Dim> index;
  for (SymbolId v : s.tensor->index) index.push_back(p.ctx.symbol_dim(v));
  alone.values = {expr::make_load(p.ctx, s.tensor->id, s.tensor->dtype, index)};
  alone.index = {index};
  alone.outputs = {s.tensor};
  return lower_reduce_with(p, list, s, alone, temporaries);
}

Result<LoweredKernel> lower_reduce_with(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e, const Temporaries& temporaries) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  ReduceNest n = make_nest(p, list, s, e);
  KernelBuilder builder(ctx, p.name + "_" + t.name, p.loc);
  Signature signature(p, list, builder, temporaries);
  std::set<expr::TensorId> own{n.acc};
  for (const te::Tensor& o : e.outputs) own.insert(o->id);
  for (Scalar x : n.nest.scalars) signature.add_reads(x, own);
  for (const te::Tensor& o : e.outputs) signature.add_write(o);
  std::vector<Loop> outer(n.nest.loops.begin(), n.nest.loops.begin() + static_cast<long>(n.outer));
  std::vector<Loop> reduce(n.nest.loops.begin() + static_cast<long>(n.outer), n.nest.loops.end());
  Scalar body = n.nest.scalars[0];
  int64_t lanes = lanes_for(p.target, {body, expr::make_const(ctx, t.accumulate, 0)});
  int64_t by_output = outer.empty() || is_arg(t.combiner) ? INT64_MIN : contiguity(ctx, body, outer.back().var);
  int64_t by_reduce = reduce.empty() || is_arg(t.combiner) ? INT64_MIN : contiguity(ctx, body, reduce.back().var);
  loop::StmtPtr stmt;
  std::vector<Loop> parallel = outer;
  if (by_output != INT64_MIN && by_output >= by_reduce) {
    Loop inner = outer.back();
    parallel.pop_back();
    Dim begin = ctx.constant(0), length = inner.extent;
    auto upper = const_upper(ctx, inner.extent);
    if (!upper || *upper > 1024) {
      Dim chunks = ceildiv(inner.extent, 256);
      Dim c = ctx.index_symbol("t", chunks);
      parallel.push_back({*c.as_symbol(), chunks});
      begin = c * 256;
      length = min(ctx.constant(256), inner.extent - begin);
    }
    stmt = make_outer_vector(ctx, s, n, lanes, inner, begin, length);
  } else {
    Reduction r{t.combiner, is_arg(t.combiner) ? body->dtype : t.accumulate, body, reduce, by_reduce > INT64_MIN, lanes};
    stmt = make_reduction(ctx, r, [&](Scalar v) { return n.make_stores(t, {}, v); });
  }
  LoweredKernel k;
  k.tasks = product_of(ctx, parallel);
  k.work = product_of(ctx, n.nest.loops) * (cost_of(body) + 1);
  k.function = builder.finish(wrap_loops(parallel, loop::ForKind::Parallel, stmt));
  k.args = signature.take_args();
  return k;
}

}  // namespace pliant::lower
