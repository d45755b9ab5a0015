// Positions of the best values.
#include "lower/stage_kernels.h"

namespace pliant::lower {

schedule::ArgOrder order_of(te::Combiner c) {
  using te::Combiner;
  return {c == Combiner::ArgMax || c == Combiner::ArgMaxLast, c == Combiner::ArgMaxLast || c == Combiner::ArgMinLast};
}

loop::StmtPtr make_arg_reduction(expr::Context& ctx, te::Combiner combiner, Scalar body, const Loop& axis,
                                 const std::function<loop::StmtPtr(Scalar)>& use) {
  const DType type = body->dtype;
  const std::vector<Dim> at{ctx.constant(0)};
  const loop::Buffer best = make_local(ctx, "best", type, 1), pos = make_local(ctx, "pos", DType::I64, 1);
  const Scalar old = expr::make_load(ctx, best.id, type, at), place = expr::make_load(ctx, pos.id, DType::I64, at);
  const Scalar taken = schedule::takes_place(order_of(combiner), body, old);
  const Scalar here = expr::make_index(ctx.symbol_dim(axis.var));
  loop::StmtPtr keep = loop::make_block({loop::make_store(pos.id, at, expr::make_select(taken, here, place)),
                                         loop::make_store(best.id, at, expr::make_select(taken, body, old))});
  loop::StmtPtr st = loop::make_block({loop::make_store(best.id, at, identity_of(ctx, combiner, type)),
                                       loop::make_store(pos.id, at, expr::make_const_int(ctx, DType::I64, 0)),
                                       loop::make_for(axis.var, axis.extent, loop::ForKind::Serial, keep), use(place)});
  return loop::make_alloc(best, loop::make_alloc(pos, st));
}

namespace {

bool runs_along(expr::Context& ctx, Scalar body, SymbolId var) {
  for (Scalar l : expr::loads_of(body)) {
    auto stride = stride_in(ctx, l->index[0], var);
    if (!stride || !(stride->is_const(0) || stride->is_const(1))) return false;
  }
  return true;
}

// An axis of at most this many elements costs less with other positions of the output beside it, read by gathers.
constexpr int64_t kShortArg = 48;
constexpr int64_t kArgWork = 8192;  // elements of a task
constexpr int64_t kColumnsOfTask = 1024;

// A range of the innermost of the loops `outer`, of `size` positions at most, for each task.
struct Part {
  Dim first, count;
};
Part divide(expr::Context& ctx, std::vector<Loop>& outer, Dim size) {
  const Loop col = outer.back();
  auto upper = const_upper(ctx, col.extent);
  if (size.is_const() && upper && *upper <= 2 * size.const_value()) {
    outer.pop_back();
    return {ctx.constant(0), col.extent};
  }
  const Dim tasks = ceildiv(col.extent, size), c = ctx.index_symbol("t", tasks), first = c * size;
  outer.back() = {*c.as_symbol(), tasks};
  return {first, min(size, col.extent - first)};
}

}  // namespace

ArgKernel make_arg_kernel(expr::Context& ctx, const Reduction& r, std::vector<Loop> outer,
                          const std::function<loop::StmtPtr(const expr::DimMap&, Scalar)>& store) {
  const Loop axis = r.loops[0];
  auto alone = [&](const expr::DimMap& at) {
    const Dim k = ctx.index_symbol("k", axis.extent);
    expr::DimMap here = at;
    here[axis.var] = k;
    return make_arg_reduction(ctx, r.combiner, expr::substitute(r.body, here), {*k.as_symbol(), axis.extent},
                              [&](Scalar v) { return store(at, v); });
  };
  const Dim length = axis.extent;
  if (outer.empty()) return {outer, alone({})};
  const Loop col = outer.back();
  // A range of outputs along `col`, each in a lane.
  auto columns = [&](const Part& part, int64_t lanes) {
    return make_vector_loop(ctx, part.count, lanes, [&](Dim v) { return alone({{col.var, part.first + v}}); });
  };
  if (runs_along(ctx, r.body, col.var)) {
    // Where registers allow it several vectors of columns go down together: a row that is read is more than a line of the
    // caches.
    const int64_t vectors = r.registers >= 32 ? 4 : 1;
    const Part part = divide(ctx, outer, ctx.constant(kColumnsOfTask));
    return {outer, columns(part, vectors * r.lanes)};
  }
  const bool may_be_short = !ctx.proves_less(ctx.constant(kShortArg), length);
  if (!may_be_short) return {outer, alone({})};
  const Dim one = ctx.constant(1);
  const Part part = divide(ctx, outer, max(one, floordiv(ctx.constant(kArgWork), max(one, length))));
  loop::StmtPtr task = columns(part, r.lanes);
  if (!ctx.proves_less_equal(length, ctx.constant(kShortArg))) {
    Dim i = ctx.index_symbol("i", part.count);
    loop::StmtPtr rows =
        loop::make_for(*i.as_symbol(), part.count, loop::ForKind::Serial, alone({{col.var, part.first + i}}));
    task = loop::make_if(expr::less_equal(length, ctx.constant(kShortArg)), task, rows);
  }
  return {outer, task};
}

}  // namespace pliant::lower
