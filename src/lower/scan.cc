// Running reductions: serial along the scanned axis, vectorised along the innermost axis where that is another one.
#include "lower/stage_kernels.h"

namespace pliant::lower {

Result<LoweredKernel> lower_scan_stage(const Problem& p, const StageList& list, const Stage& s,
                                       const Temporaries& temporaries) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  size_t axis = static_cast<size_t>(t.scan_axis), rank = t.shape.size();
  loop::StoreKind kind = store_kind_of(t.combiner);
  Scalar body = flatten_loads(ctx, s.body, list.shapes);
  std::vector<Dim> index;
  for (SymbolId v : t.index) index.push_back(ctx.symbol_dim(v));
  Dim offset = flat_offset(ctx, t.shape, index);
  KernelBuilder builder(ctx, p.name + "_" + t.name, p.loc);
  Signature signature(p, list, builder, temporaries);
  signature.add_reads(body, {});
  signature.add_write(s.tensor);
  std::vector<Loop> parallel;
  for (size_t i = 0; i < rank; ++i)
    if (i != axis && (i + 1 != rank)) parallel.push_back({t.index[i], t.shape[i]});
  int64_t lanes = lanes_for(p.target, {body, expr::make_const(ctx, t.accumulate, 0)});
  bool vector = axis + 1 != rank;
  if (!vector) lanes = 1;
  Dim extent = t.shape[axis], step = ctx.index_symbol("a", extent);
  Dim position = t.reverse ? extent - 1 - step : step;

  // One strip of `lanes` independent scans starting at element `base` of the innermost axis; `valid`: null for all lanes.
  auto strip = [&](Dim base, Dim valid) {
    loop::Buffer acc = make_local(ctx, "acc", t.accumulate, lanes);
    auto lane_loop = [&](const std::function<loop::StmtPtr(Dim)>& f) {
      Dim l = ctx.index_symbol("l", ctx.constant(lanes));
      loop::StmtPtr st = f(l);
      if (valid) st = loop::make_if(expr::less(l, valid), st);
      return loop::make_for(*l.as_symbol(), ctx.constant(lanes), loop::ForKind::Vector, st);
    };
    loop::StmtPtr init =
        lane_loop([&](Dim l) { return loop::make_store(acc.id, {l}, identity_of(ctx, t.combiner, t.accumulate)); });
    loop::StmtPtr sweep = lane_loop([&](Dim l) {
      expr::DimMap m{{t.index[axis], position}};
      if (vector) m[t.index[rank - 1]] = base + l;
      loop::StmtPtr add = loop::make_store(acc.id, {l}, expr::make_cast(t.accumulate, expr::substitute(body, m)), kind);
      Scalar value = finish_value(t, expr::make_load(ctx, acc.id, t.accumulate, {l}));
      loop::StmtPtr put = loop::make_store(t.id, {expr::substitute(offset, m)}, value);
      return t.exclusive ? loop::make_block({put, add}) : loop::make_block({add, put});
    });
    return loop::make_alloc(
        acc, loop::make_block({init, loop::make_for(*step.as_symbol(), extent, loop::ForKind::Serial, sweep)}));
  };
  loop::StmtPtr stmt;
  if (!vector) {
    stmt = strip(ctx.constant(0), Dim());
  } else {
    Dim inner = t.shape[rank - 1], strips = ceildiv(inner, lanes), c = ctx.index_symbol("t", strips);
    parallel.push_back({*c.as_symbol(), strips});
    stmt = strip(c * lanes, inner - c * lanes);
  }
  LoweredKernel k;
  k.tasks = product_of(ctx, parallel);
  k.work = element_count(ctx, t.shape) * (cost_of(body) + 2);
  k.function = builder.finish(wrap_loops(parallel, loop::ForKind::Parallel, stmt));
  k.args = signature.take_args();
  return k;
}

}  // namespace pliant::lower
