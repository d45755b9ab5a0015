// Positions of the best values. Where memory is read along the reduced axis, every lane keeps the best of what it sees, and
// the lanes are compared at the end; ties and NaN go by position, as if the axis was walked in order.
#include "lower/reduction/arg_order.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

namespace {

using expr::BinaryOp;
using expr::UnaryOp;

Scalar logical_or(Scalar a, Scalar b) { return expr::make_binary(BinaryOp::Or, a, b); }
Scalar logical_not(Scalar a) { return expr::make_unary(UnaryOp::Not, a); }
Scalar is_nan(Scalar a) { return expr::make_unary(UnaryOp::IsNan, a); }

}  // namespace

Scalar takes_place(ArgOrder o, Scalar value, Scalar old) {
  BinaryOp op = o.is_max ? (o.last ? BinaryOp::Ge : BinaryOp::Gt) : (o.last ? BinaryOp::Le : BinaryOp::Lt);
  Scalar better = expr::make_binary(op, value, old);
  if (!is_float(value->dtype)) return better;
  return logical_or(better, o.last ? is_nan(value) : expr::logical_and(is_nan(value), logical_not(is_nan(old))));
}

namespace {

// takes_place where positions say which comes later.
Scalar takes_place_at(ArgOrder o, Scalar value, Scalar old, Scalar at, Scalar old_at) {
  Scalar better = expr::make_binary(o.is_max ? BinaryOp::Gt : BinaryOp::Lt, value, old);
  Scalar same = expr::make_binary(BinaryOp::Eq, value, old);
  if (is_float(value->dtype)) {
    better = logical_or(better, expr::logical_and(is_nan(value), logical_not(is_nan(old))));
    same = logical_or(same, expr::logical_and(is_nan(value), is_nan(old)));
  }
  return logical_or(better, expr::logical_and(same, expr::make_binary(o.last ? BinaryOp::Gt : BinaryOp::Lt, at, old_at)));
}

struct Lanes {
  expr::Context& ctx;
  ArgOrder order;
  loop::Buffer best, pos;

  Scalar best_at(Dim l) const { return expr::make_load(ctx, best.id, best.dtype, {l}); }
  Scalar pos_at(Dim l) const { return expr::make_load(ctx, pos.id, pos.dtype, {l}); }
  loop::StmtPtr store(Dim l, Scalar taken, Scalar value, Scalar at) const {
    return loop::make_block({loop::make_store(pos.id, {l}, expr::make_select(taken, at, pos_at(l))),
                             loop::make_store(best.id, {l}, expr::make_select(taken, value, best_at(l)))});
  }
  loop::StmtPtr over(int64_t lanes, const std::function<loop::StmtPtr(Dim)>& body) const {
    Dim l = ctx.index_symbol("l", ctx.constant(lanes));
    return loop::make_for(*l.as_symbol(), ctx.constant(lanes), loop::ForKind::Vector, body(l));
  }
  // Lane l takes over what lane l + half has, for fewer and fewer lanes.
  loop::StmtPtr gather(int64_t lanes) const {
    std::vector<loop::StmtPtr> steps;
    for (int64_t half = lanes / 2; half >= 1; half /= 2)
      steps.push_back(over(half, [&](Dim l) {
        Scalar value = best_at(l + half), at = pos_at(l + half);
        return store(l, takes_place_at(order, value, best_at(l), at, pos_at(l)), value, at);
      }));
    return loop::make_block(std::move(steps));
  }
};

bool runs_along(expr::Context& ctx, Scalar body, SymbolId var) {
  for (Scalar l : expr::loads_of(body)) {
    auto stride = stride_in(ctx, l->index[0], var);
    if (!stride || !(stride->is_const(0) || stride->is_const(1))) return false;
  }
  return true;
}

loop::StmtPtr make_serial_arg_reduction(expr::Context& ctx, const Reduction& r,
                                        const std::function<loop::StmtPtr(Scalar)>& use) {
  PLIANT_CHECK(r.loops.size() == 1) << "an arg reduction has one axis";
  DType vt = r.body->dtype;
  loop::Buffer best = make_local(ctx, "best", vt, 1), pos = make_local(ctx, "pos", DType::I64, 1);
  Dim z = ctx.constant(0), k = ctx.symbol_dim(r.loops[0].var);
  Scalar taken = takes_place(ArgOrder(r.combiner), r.body, expr::make_load(ctx, best.id, vt, {z}));
  loop::StmtPtr take =
      loop::make_block({loop::make_store(pos.id, {z}, expr::make_index(k)), loop::make_store(best.id, {z}, r.body)});
  loop::StmtPtr scan = loop::make_for(r.loops[0].var, r.loops[0].extent, loop::ForKind::Serial, loop::make_if(taken, take));
  loop::StmtPtr init = loop::make_block({loop::make_store(best.id, {z}, identity_of(ctx, r.combiner, vt)),
                                         loop::make_store(pos.id, {z}, expr::make_const_int(ctx, DType::I64, 0))});
  loop::StmtPtr last = use(expr::make_load(ctx, pos.id, DType::I64, {z}));
  return loop::make_alloc(best, loop::make_alloc(pos, loop::make_block({init, scan, last})));
}

}  // namespace

loop::StmtPtr make_arg_reduction(expr::Context& ctx, const Reduction& r, const std::function<loop::StmtPtr(Scalar)>& use) {
  PLIANT_CHECK(r.loops.size() == 1) << "an arg reduction has one axis";
  const Loop axis = r.loops[0];
  // Several vectors hide the latency of comparing and selecting, as far as the positions, which are wider, fit registers.
  int64_t n = std::max<int64_t>(1, r.registers / 16) * r.lanes;
  if (auto upper = const_upper(ctx, axis.extent))
    while (n > 1 && n > *upper) n /= 2;
  if (n < 2 || !runs_along(ctx, r.body, axis.var)) return make_serial_arg_reduction(ctx, r, use);
  const Dim whole = floordiv(axis.extent, n), rest = mod(axis.extent, n);
  const DType vt = r.body->dtype;
  const Lanes lanes{ctx, ArgOrder(r.combiner), make_local(ctx, "best", vt, n), make_local(ctx, "pos", DType::I64, n)};
  // A lane that sees nothing keeps a position that loses every tie: the axis is not empty, so lane 0 sees something.
  loop::StmtPtr init = lanes.over(n, [&](Dim l) {
    Scalar nowhere = lanes.order.last ? expr::make_const_int(ctx, DType::I64, -1) : expr::make_index(l);
    return loop::make_block({loop::make_store(lanes.best.id, {l}, identity_of(ctx, r.combiner, vt)),
                             loop::make_store(lanes.pos.id, {l}, nowhere)});
  });
  auto look = [&](Dim at, Dim l) {
    Scalar value = expr::substitute(r.body, {{axis.var, at}});
    return lanes.store(l, takes_place(lanes.order, value, lanes.best_at(l)), value, expr::make_index(at));
  };
  std::vector<loop::StmtPtr> seq{init};
  const Dim v = ctx.index_symbol("v", whole);
  seq.push_back(loop::make_for(*v.as_symbol(), whole, loop::ForKind::Serial,
                               lanes.over(n, [&](Dim l) { return look(v * n + l, l); })));
  if (!rest.is_const(0))
    seq.push_back(lanes.over(n, [&](Dim l) { return loop::make_if(expr::less(l, rest), look(whole * n + l, l)); }));
  seq.push_back(lanes.gather(n));
  seq.push_back(use(lanes.pos_at(ctx.constant(0))));
  return loop::make_alloc(lanes.best, loop::make_alloc(lanes.pos, loop::make_block(std::move(seq))));
}

namespace {

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

// `count` outputs from `first` on along `col`, each in a lane, `lanes` at a time.
loop::StmtPtr make_arg_columns(expr::Context& ctx, const Reduction& r, const Loop& col, Dim first, Dim count, int64_t lanes,
                               const std::function<loop::StmtPtr(const expr::DimMap& at, Scalar)>& use) {
  const DType vt = r.body->dtype;
  const Dim zero = ctx.constant(0), length = r.loops[0].extent;
  return make_vector_loop(ctx, count, lanes, [&](Dim v) {
    const Lanes one{ctx, ArgOrder(r.combiner), make_local(ctx, "best", vt, 1), make_local(ctx, "pos", DType::I64, 1)};
    const Dim k = ctx.index_symbol("k", length);
    const expr::DimMap at{{col.var, first + v}};
    Scalar value = expr::substitute(r.body, {{col.var, first + v}, {r.loops[0].var, k}});
    loop::StmtPtr look = one.store(zero, takes_place(one.order, value, one.best_at(zero)), value, expr::make_index(k));
    loop::StmtPtr init = loop::make_block({loop::make_store(one.best.id, {zero}, identity_of(ctx, r.combiner, vt)),
                                           loop::make_store(one.pos.id, {zero}, expr::make_const_int(ctx, DType::I64, 0))});
    loop::StmtPtr scan = loop::make_for(*k.as_symbol(), length, loop::ForKind::Serial, look);
    loop::StmtPtr all = loop::make_block({init, scan, use(at, one.pos_at(zero))});
    return loop::make_alloc(one.best, loop::make_alloc(one.pos, all));
  });
}

}  // namespace

ArgKernel make_arg_kernel(expr::Context& ctx, const Reduction& r, std::vector<Loop> outer,
                          const std::function<loop::StmtPtr(const expr::DimMap&, Scalar)>& store) {
  auto alone = [&](const expr::DimMap& at) {
    Reduction row = r;
    row.body = expr::substitute(r.body, at);
    Dim k = ctx.index_symbol("k", r.loops[0].extent);
    row.body = expr::substitute(row.body, {{r.loops[0].var, k}});
    row.loops = {{*k.as_symbol(), r.loops[0].extent}};
    return make_reduction(ctx, row, [&](Scalar v) { return store(at, v); });
  };
  const Dim length = r.loops[0].extent;
  if (outer.empty()) return {outer, alone({})};
  const Loop col = outer.back();
  if (runs_along(ctx, r.body, col.var)) {
    // Where registers allow it several vectors of columns go down together: a row that is read is more than a line of the
    // caches.
    const int64_t vectors = r.registers >= 32 ? 4 : 1;
    const Part part = divide(ctx, outer, ctx.constant(kColumnsOfTask));
    return {outer, make_arg_columns(ctx, r, col, part.first, part.count, vectors * r.lanes, store)};
  }
  const bool may_be_short = !ctx.proves_less(ctx.constant(kShortArg), length);
  if (!may_be_short) return {outer, alone({})};
  const Dim one = ctx.constant(1);
  const Part part = divide(ctx, outer, max(one, floordiv(ctx.constant(kArgWork), max(one, length))));
  loop::StmtPtr task = make_arg_columns(ctx, r, col, part.first, part.count, r.lanes, store);
  if (!ctx.proves_less_equal(length, ctx.constant(kShortArg))) {
    Dim i = ctx.index_symbol("i", part.count);
    loop::StmtPtr rows =
        loop::make_for(*i.as_symbol(), part.count, loop::ForKind::Serial, alone({{col.var, part.first + i}}));
    task = loop::make_if(expr::less_equal(length, ctx.constant(kShortArg)), task, rows);
  }
  return {outer, task};
}

}  // namespace pliant::lower
