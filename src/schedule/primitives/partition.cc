// for o in E { S(o) }  ->  for main in C { S(main) } for tail in E - C { S(C + tail) }. A loop of no iterations is not made.
#include <algorithm>

#include "schedule/edit.h"

namespace pliant::schedule {
namespace {

// The loop as two, of which the first runs `count` iterations, the other one `left`.
Status part(Edit& e, const StmtPtr& old, Dim count, Dim left, std::string_view main, std::string_view tail) {
  const Dim m = TRY(e.new_index(main, count)), t = TRY(e.new_index(tail, left)), one = e.ctx.constant(1);
  const StmtPtr rest = e.copy(old->body[0]);
  // One iteration has a place that is known.
  auto at = [&](Dim number, Dim i) { return e.ctx.proves_less_equal(number, one) ? e.ctx.constant(0) : i; };
  const StmtPtr first = without_known(e.substitute(old->body[0], {{old->var, at(count, m)}}));
  const StmtPtr second = without_known(e.substitute(rest, {{old->var, count + at(left, t)}}));
  std::vector<StmtPtr> loops;
  if (!count.is_const(0)) loops.push_back(make_for(m, count, ForKind::Serial, first));
  if (!left.is_const(0)) loops.push_back(make_for(t, left, ForKind::Serial, second));
  e.replace(old, loop::make_block(std::move(loops)));
  return e.commit();
}

}  // namespace

Status Schedule::partition(std::string_view name, Dim count, std::string_view main, std::string_view tail) {
  Edit e(*this, "partition", name, count, "->", main, tail);
  const StmtPtr old = TRY(e.find_serial_loop(name));
  TRY(check_known(e, count));
  if (!e.ctx.proves_less_equal(e.ctx.constant(0), count) || !e.ctx.proves_less_equal(count, old->extent))
    return e.refuse(count.str() + " is not known to be 0 to the number of iterations");
  return part(e, old, count, old->extent - count, main, tail);
}

Status Schedule::partition(std::string_view name, std::string_view main, std::string_view tail) {
  Edit e(*this, "partition", name, "->", main, tail);
  const StmtPtr old = TRY(e.find_serial_loop(name));
  const auto tile = std::find_if(e.tiles.begin(), e.tiles.end(), [&](const LoopTile& t) { return t.outer == old->var; });
  const Dim v = e.ctx.symbol_dim(old->var);
  const auto factor = tile == e.tiles.end() ? std::nullopt : expr::coefficient_of(tile->start, old->var);
  if (!factor || !factor->is_const() || !tile->extent || tile->start != v * *factor ||
      old->extent != expr::ceildiv(tile->extent, factor->const_value()))
    return e.refuse("loop " + std::string(name) + " is not over the tiles of a split");
  const Dim size = *factor, rest = expr::mod(tile->extent, size);
  return part(e, old, expr::floordiv(tile->extent, size), expr::min(e.ctx.constant(1), rest), main, tail);
}

}  // namespace pliant::schedule
