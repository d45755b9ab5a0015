// Reductions as kernels of their own, and the accumulation code that other strategies share.
#include <algorithm>

#include "lower/contraction.h"
#include "lower/epilogue.h"
#include "lower/stage_kernels.h"
#include "lower/window.h"

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
    loop::StmtPtr add = guard_with(g.guard, loop::make_store(total.id, {zero}, value, kind));
    seq.push_back(wrap_loops(r.loops, loop::ForKind::Serial, add));
    seq.push_back(use(load_of(ctx, total, zero)));
    return loop::make_alloc(total, loop::make_block(std::move(seq)));
  }
  // Four vectors of partial results hide the latency of the combining operation.
  Loop inner = r.loops.back();
  int64_t wide = r.lanes * 4;
  if (auto upper = const_upper(ctx, inner.extent))
    while (wide > 1 && wide / 2 >= *upper) wide /= 2;
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
    sweep.push_back(loop::make_for(*i.as_symbol(), whole, loop::ForKind::Serial,
                                   for_lanes(ctx, wide, [&](Dim l) { return term(i * wide + l, l); })));
  }
  if (!rest.is_const(0))
    sweep.push_back(
        for_lanes(ctx, wide, [&](Dim l) { return loop::make_if(expr::less(l, rest), term(whole * wide + l, l)); }));
  seq.push_back(wrap_loops(outer, loop::ForKind::Serial, loop::make_block(std::move(sweep))));
  seq.push_back(
      for_lanes(ctx, wide, [&](Dim l) { return loop::make_store(total.id, {zero}, load_of(ctx, part, l), kind); }));
  seq.push_back(use(load_of(ctx, total, zero)));
  return loop::make_alloc(total, loop::make_alloc(part, loop::make_block(std::move(seq))));
}

namespace {

// The stage's loops: outputs first, then the reduction's, each part merged by itself.
struct ReduceNest {
  Nest nest;               // scalars[0] is the body, scalars[1 + k] the value of outputs[k], stored at offsets[k]
  size_t outer = 0;        // loops before it are the output's
  expr::TensorId acc = 0;  // stands for the result in the values
  std::vector<te::Tensor> outputs{};
  // The stores of one output position, whose result is `total`.
  loop::StmtPtr make_stores(const te::TensorDef& t, const expr::DimMap& at, Scalar total) const {
    std::vector<loop::StmtPtr> stores;
    for (size_t k = 0; k < outputs.size(); ++k) {
      Scalar value =
          expr::substitute(nest.scalars[k + 1], at, [&](Scalar l) { return l->tensor == acc ? finish_value(t, total) : l; });
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

// Whether a load of a constant could be laid out anew: it depends on the column and the reduction only, all of known size.
bool can_repack(const Problem& p, Scalar load, const Loop& col, const std::vector<Loop>& reduce) {
  bool constant = false;
  for (size_t i = 0; i < p.inputs.size(); ++i)
    constant = constant || (p.inputs[i] && p.inputs[i]->id == load->tensor && p.constants[i]);
  bool known = constant && col.extent.is_const();
  std::set<SymbolId> vars{col.var};
  for (const Loop& l : reduce) {
    known = known && l.extent.is_const();
    vars.insert(l.var);
  }
  for (SymbolId s : expr::symbols_of(load->index[0])) known = known && vars.count(s);
  return known;
}

// How many of the loads run contiguously, or stay put, along `var`, against those that jump. `movable` loads can be made to
// run.
int64_t contiguity(expr::Context& ctx, Scalar body, SymbolId var, const std::function<bool(Scalar)>& movable) {
  int64_t score = 0;
  for (Scalar l : expr::loads_of(body)) {
    auto stride = stride_in(ctx, l->index[0], var);
    if (movable(l))
      score += 1;
    else if (stride && stride->is_const(1))
      score += 1;
    else if (!stride || !stride->is_const(0))
      score -= 2;
  }
  return score;
}

// Constant operands that jump along the vector loop are laid out so that they run along it: [reduction][column]. Gives the
// new body.
Result<Scalar> repack_constants(const Problem& p, Signature& signature, Scalar body, Loop col,
                                const std::vector<Loop>& reduce) {
  expr::Context& ctx = p.ctx;
  Dim k = ctx.constant(0);
  for (const Loop& l : reduce) k = k * l.extent + ctx.symbol_dim(l.var);
  std::map<const expr::ScalarNode*, Scalar> moved;
  for (Scalar l : expr::loads_of(body)) {
    auto stride = stride_in(ctx, l->index[0], col.var);
    if (!can_repack(p, l, col, reduce) || (stride && (stride->is_const(0) || stride->is_const(1)))) continue;
    int64_t columns = col.extent.const_value();
    graph::ConstantPtr packed = TRY(pack_constant(p, l, {}, col, reduce, columns));
    expr::TensorId id = ctx.fresh_tensor();
    signature.add_constant(id, "packed", packed);
    moved[l.node()] = expr::make_load(ctx, id, l->dtype, {k * columns + ctx.symbol_dim(col.var)});
  }
  if (moved.empty()) return body;
  return expr::substitute(body, {}, [&](Scalar l) {
    auto it = moved.find(l.node());
    return it == moved.end() ? l : it->second;
  });
}

}  // namespace

Result<LoweredKernel> lower_reduce_stage(const Problem& p, const StageList& list, const Stage& s,
                                         const Temporaries& temporaries) {
  Epilogue alone;
  std::vector<Dim> index;
  for (SymbolId v : s.tensor->index) index.push_back(p.ctx.symbol_dim(v));
  alone.values = {expr::make_load(p.ctx, s.tensor->id, s.tensor->dtype, index)};
  alone.index = {index};
  alone.outputs = {s.tensor};
  return lower_reduce_with(p, list, s, alone, temporaries);
}

Result<LoweredKernel> lower_reduce_with(const Problem& p, const StageList& list, const Stage& s, const Epilogue& e,
                                        const Temporaries& temporaries) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  ReduceNest n = make_nest(p, list, s, e);
  KernelBuilder builder(ctx, p.name + "_" + t.name, p.loc);
  Signature signature(p, list, builder, temporaries);
  std::vector<Loop> outer(n.nest.loops.begin(), n.nest.loops.begin() + static_cast<long>(n.outer));
  std::vector<Loop> reduce(n.nest.loops.begin() + static_cast<long>(n.outer), n.nest.loops.end());
  Scalar body = n.nest.scalars[0];
  int64_t lanes = lanes_for(p.target, {body, expr::make_const(ctx, t.accumulate, 0)});
  auto never = [](Scalar) { return false; };
  auto movable = [&](Scalar l) { return can_repack(p, l, outer.back(), reduce); };
  int64_t by_output = outer.empty() || is_arg(t.combiner) ? INT64_MIN : contiguity(ctx, body, outer.back().var, movable);
  int64_t by_reduce = reduce.empty() || is_arg(t.combiner) ? INT64_MIN : contiguity(ctx, body, reduce.back().var, never);
  bool along_output = by_output != INT64_MIN && by_output >= by_reduce;
  if (along_output) body = n.nest.scalars[0] = TRY(repack_constants(p, signature, body, outer.back(), reduce));
  std::set<expr::TensorId> own{n.acc};
  for (const te::Tensor& o : e.outputs) own.insert(o->id);
  for (Scalar x : n.nest.scalars) signature.add_reads(x, own);
  for (const te::Tensor& o : e.outputs) signature.add_write(o);
  loop::StmtPtr stmt;
  std::vector<Loop> parallel = outer;
  auto store = [&](const expr::DimMap& at, Scalar total) { return n.make_stores(t, at, total); };
  if (along_output) {
    Window w{ctx, t, body, reduce, outer.back(), std::nullopt, lanes, store};
    parallel.pop_back();
    if (!parallel.empty()) {
      w.row = parallel.back();
      parallel.pop_back();
    }
    // Long columns, and long rows of them, are divided into tasks.
    auto upper = const_upper(ctx, w.col.extent);
    if (!upper || *upper > 2048) {
      Dim chunks = ceildiv(w.col.extent, 1024), c = ctx.index_symbol("t", chunks);
      parallel.push_back({*c.as_symbol(), chunks});
      w.col_first = c * 1024;
      w.col_count = min(ctx.constant(1024), w.col.extent - w.col_first);
    }
    if (w.row) {
      auto rows = const_upper(ctx, w.row->extent);
      if (!rows || *rows > 128) {
        Dim chunks = ceildiv(w.row->extent, 64), c = ctx.index_symbol("t", chunks);
        parallel.push_back({*c.as_symbol(), chunks});
        w.row_first = c * 64;
        w.row_count = min(ctx.constant(64), w.row->extent - w.row_first);
      }
    }
    stmt = make_window(w);
  } else {
    Reduction r{t.combiner, is_arg(t.combiner) ? body->dtype : t.accumulate, body, reduce, by_reduce > INT64_MIN, lanes};
    stmt = make_reduction(ctx, r, [&](Scalar v) { return store({}, v); });
  }
  LoweredKernel k;
  k.tasks = product_of(ctx, parallel);
  k.work = product_of(ctx, n.nest.loops) * (cost_of(body) + 1);
  k.function = builder.finish(wrap_loops(parallel, loop::ForKind::Parallel, stmt));
  k.args = signature.take_args();
  return k;
}

}  // namespace pliant::lower
