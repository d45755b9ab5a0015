// Positions of the best values. Where memory is read along the reduced axis, every lane keeps the best of what it sees, and
// the lanes are compared at the end; ties and NaN go by position, as if the axis was walked in order.
#include "lower/stage_kernels.h"

namespace pliant::lower {

namespace {

using expr::BinaryOp;
using expr::UnaryOp;

struct Order {
  explicit Order(te::Combiner c)
      : is_max(c == te::Combiner::ArgMax || c == te::Combiner::ArgMaxLast),
        last(c == te::Combiner::ArgMaxLast || c == te::Combiner::ArgMinLast) {}
  bool is_max, last;
};

Scalar logical_or(Scalar a, Scalar b) { return expr::make_binary(BinaryOp::Or, a, b); }
Scalar logical_not(Scalar a) { return expr::make_unary(UnaryOp::Not, a); }
Scalar is_nan(Scalar a) { return expr::make_unary(UnaryOp::IsNan, a); }

// Whether `value`, which comes later than `old`, takes its place.
Scalar takes_place(Order o, Scalar value, Scalar old) {
  BinaryOp op = o.is_max ? (o.last ? BinaryOp::Ge : BinaryOp::Gt) : (o.last ? BinaryOp::Le : BinaryOp::Lt);
  Scalar better = expr::make_binary(op, value, old);
  if (!is_float(value->dtype)) return better;
  return logical_or(better, o.last ? is_nan(value) : expr::logical_and(is_nan(value), logical_not(is_nan(old))));
}

// The same where positions say which comes later.
Scalar takes_place_at(Order o, Scalar value, Scalar old, Scalar at, Scalar old_at) {
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
  Order order;
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

}  // namespace

loop::StmtPtr make_serial_arg_reduction(expr::Context& ctx, const Reduction& r,
                                        const std::function<loop::StmtPtr(Scalar)>& use) {
  PLIANT_CHECK(r.loops.size() == 1) << "an arg reduction has one axis";
  DType vt = r.body->dtype;
  loop::Buffer best = make_local(ctx, "best", vt, 1), pos = make_local(ctx, "pos", DType::I64, 1);
  Dim z = ctx.constant(0), k = ctx.symbol_dim(r.loops[0].var);
  Scalar taken = takes_place(Order(r.combiner), r.body, expr::make_load(ctx, best.id, vt, {z}));
  loop::StmtPtr take =
      loop::make_block({loop::make_store(pos.id, {z}, expr::make_index(k)), loop::make_store(best.id, {z}, r.body)});
  loop::StmtPtr scan = loop::make_for(r.loops[0].var, r.loops[0].extent, loop::ForKind::Serial, loop::make_if(taken, take));
  loop::StmtPtr init = loop::make_block({loop::make_store(best.id, {z}, identity_of(ctx, r.combiner, vt)),
                                         loop::make_store(pos.id, {z}, expr::make_const_int(ctx, DType::I64, 0))});
  loop::StmtPtr last = use(expr::make_load(ctx, pos.id, DType::I64, {z}));
  return loop::make_alloc(best, loop::make_alloc(pos, loop::make_block({init, scan, last})));
}

loop::StmtPtr make_arg_reduction(expr::Context& ctx, const Reduction& r, const std::function<loop::StmtPtr(Scalar)>& use) {
  PLIANT_CHECK(r.loops.size() == 1) << "an arg reduction has one axis";
  const Loop axis = r.loops[0];
  int64_t n = 4 * r.lanes;  // several vectors hide the latency of comparing and selecting
  if (auto upper = const_upper(ctx, axis.extent))
    while (n > 1 && n > *upper) n /= 2;
  if (n < 2 || !runs_along(ctx, r.body, axis.var)) return make_serial_arg_reduction(ctx, r, use);
  const Dim whole = floordiv(axis.extent, n), rest = mod(axis.extent, n);
  const DType vt = r.body->dtype;
  const Lanes lanes{ctx, Order(r.combiner), make_local(ctx, "best", vt, n), make_local(ctx, "pos", DType::I64, n)};
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

std::optional<loop::StmtPtr> make_arg_columns(expr::Context& ctx, const Reduction& r, const Loop& col, Dim first, Dim count,
                                              const std::function<loop::StmtPtr(const expr::DimMap& at, Scalar)>& use) {
  if (!runs_along(ctx, r.body, col.var)) return std::nullopt;
  // Several vectors of columns go down together: each row that is read is more than a line of the caches.
  return make_vector_loop(ctx, count, 4 * r.lanes, [&](Dim v) {
    expr::DimMap at{{col.var, first + v}}, inside = at;
    Dim k = ctx.index_symbol("k", r.loops[0].extent);
    inside[r.loops[0].var] = k;
    Reduction column = r;
    column.body = expr::substitute(r.body, inside);
    column.loops = {{*k.as_symbol(), r.loops[0].extent}};
    return make_serial_arg_reduction(ctx, column, [&](Scalar total) { return use(at, total); });
  });
}

}  // namespace pliant::lower
