// for k in E { pos, best = the better of them and k, e(k) }  ->  local at, t { for k in E { at[k mod C], t[k mod C] = the
// better of them and k, e(k) } pos, best = the best of at, t }: C iterations in a row do not depend on each other.
#include <algorithm>

#include "schedule/arg_order.h"
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

// The parts of a loop that searches.
struct Search {
  StmtPtr position, best;  // the stores
  Scalar value;
  ArgOrder order;
};

std::optional<Search> search_of(const Edit& e, const StmtPtr& l) {
  const std::vector<StmtPtr> stores = statements_of(l->body[0]);
  if (stores.size() != 2) return std::nullopt;
  for (const StmtPtr& s : stores)
    if (s->kind != StmtKind::Store || s->store_kind != StoreKind::Assign || s->value->kind != expr::ScalarKind::Select ||
        !std::all_of(s->index.begin(), s->index.end(), [](Dim d) { return d.is_const(); }))
      return std::nullopt;
  const StmtPtr &position = stores[0], &best = stores[1];
  auto chosen = [&](const StmtPtr& s, Scalar taken, Scalar value) {
    return s->value == expr::make_select(taken, value, expr::make_load(e.ctx, s->buffer, value->dtype, s->index));
  };
  const Scalar value = best->value->args[1], here = expr::make_index(e.ctx.symbol_dim(l->var));
  const Scalar old = expr::make_load(e.ctx, best->buffer, value->dtype, best->index);
  for (Scalar x : expr::loads_of(value))
    if (x->tensor == best->buffer || x->tensor == position->buffer) return std::nullopt;
  for (bool is_max : {true, false})
    for (bool last : {true, false})
      if (const Scalar taken = takes_place({is_max, last}, value, old);
          chosen(position, taken, here) && chosen(best, taken, value))
        return Search{position, best, value, {is_max, last}};
  return std::nullopt;
}

}  // namespace

Status Schedule::rfactor_arg(std::string_view loop, int64_t lanes, std::string_view name) {
  Edit e(*this, "rfactor_arg", loop, lanes, "->", name);
  const StmtPtr l = TRY(e.find_loop(loop));
  if (lanes < 2 || lanes > kMostLanes || (lanes & (lanes - 1)) != 0)
    return e.refuse("the lanes are not 2, 4, 8 … " + std::to_string(kMostLanes));
  const auto found = search_of(e, l);
  if (!found) return e.refuse("loop " + std::string(loop) + " does not search for the position of a best value");
  const auto& [position, best, value, order] = *found;
  const DType t = value->dtype;
  const std::vector<Dim> shape{e.ctx.constant(lanes)};
  const Buffer values = TRY(e.new_buffer(name, t, shape, Scope::Local));
  const Buffer places = TRY(e.new_buffer(std::string(name) + ".at", DType::I64, shape, Scope::Local));
  auto value_at = [&](Dim i) { return expr::make_load(e.ctx, values.id, t, {i}); };
  auto place_at = [&](Dim i) { return expr::make_load(e.ctx, places.id, DType::I64, {i}); };
  auto keep = [&](Dim i, Scalar taken, Scalar now, Scalar at) {
    return loop::make_block({loop::make_store(places.id, {i}, expr::make_select(taken, at, place_at(i))),
                             loop::make_store(values.id, {i}, expr::make_select(taken, now, value_at(i)))});
  };
  auto over = [&](int64_t count, const loop::MakeBody& body) {
    return e.derived_loop(values.name + ".v", e.ctx.constant(count), ForKind::Vector, body);
  };
  // No element is at -1: a lane that keeps what was there before loses against all that took its place.
  const Scalar nowhere = expr::make_const_int(e.ctx, DType::I64, -1);
  const Scalar old_value = expr::make_load(e.ctx, best->buffer, t, best->index);
  const Scalar old_place = expr::make_load(e.ctx, position->buffer, DType::I64, position->index);
  std::vector<StmtPtr> seq{over(lanes, [&](Dim v) {
    return loop::make_block({loop::make_store(values.id, {v}, old_value), loop::make_store(places.id, {v}, nowhere)});
  })};
  const Dim k = e.ctx.symbol_dim(l->var), i = expr::mod(k, lanes);
  seq.push_back(loop::with_body(l, {keep(i, takes_place(order, value, value_at(i)), value, expr::make_index(k))}));
  for (int64_t half = lanes / 2; half >= 1; half /= 2)
    seq.push_back(over(half, [&](Dim v) {
      const Scalar other = value_at(v + half), at = place_at(v + half);
      return keep(v, takes_place_at(order, other, value_at(v), at, place_at(v)), other, at);
    }));
  const Dim zero = e.ctx.constant(0);
  const Scalar is_kept = expr::make_binary(expr::BinaryOp::Eq, place_at(zero), nowhere);
  seq.push_back(loop::make_store(position->buffer, position->index, expr::make_select(is_kept, old_place, place_at(zero))));
  seq.push_back(loop::make_store(best->buffer, best->index, value_at(zero)));
  e.replace(l, loop::make_alloc(values, loop::make_alloc(places, loop::make_block(std::move(seq)))));
  return e.commit();
}

}  // namespace pliant::schedule
