// for i in E { S(i) }  ->  for v in floordiv(E, W) { for vector l in W { S(v*W + l) } }
//                          if 0 < mod(E, W) { for vector t in W { if t < mod(E, W) { S(floordiv(E, W)*W + t) } } }
// or, halving, for H = W/2, W/4 … 1:
//                          if H <= mod(E, 2*H) { for vector t in H { S(floordiv(E, 2*H)*2*H + t) } }
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

// What follows the `whole` vectors of `old`: the body over the last `rest` iterations.
Result<StmtPtr> masked_rest(Edit& e, const StmtPtr& old, Dim whole, Dim rest, int64_t lanes, std::string_view tail) {
  // A rest that is known gets a vector of its own size.
  int64_t width = lanes;
  while (rest.is_const() && width / 2 >= rest.const_value()) width /= 2;
  const Dim t = TRY(e.new_index(tail, e.ctx.constant(width)));
  StmtPtr body = whole.is_const(0) ? old->body[0] : e.copy(old->body[0]);
  body = e.substitute(body, {{old->var, whole * lanes + t}});
  if (!rest.is_const(width)) body = loop::make_if(expr::less(t, rest), body);
  body = make_for(t, e.ctx.constant(width), ForKind::Vector, body);
  return rest.is_const() ? body : loop::make_if(expr::less(e.ctx.constant(0), rest), body);
}

Result<StmtPtr> halving_rest(Edit& e, const StmtPtr& old, Dim all, int64_t lanes, std::string_view tail) {
  std::vector<StmtPtr> parts;
  for (int64_t width = lanes / 2; width > 0; width /= 2) {
    const Dim extent = e.ctx.constant(width), left = expr::mod(all, 2 * width);
    const Dim t = parts.empty() ? TRY(e.new_index(tail, extent)) : e.derived_index(std::string(tail), extent);
    StmtPtr body = expr::floordiv(all, lanes).is_const(0) && parts.empty() ? old->body[0] : e.copy(old->body[0]);
    body = e.substitute(body, {{old->var, expr::floordiv(all, 2 * width) * (2 * width) + t}});
    body = make_for(t, extent, ForKind::Vector, body);
    parts.push_back(loop::make_if(expr::less_equal(extent, left), body));
  }
  return loop::make_block(std::move(parts));
}

Status check_vectors(const Edit& e, const StmtPtr& s) {
  if (s->kind == StmtKind::For && s->for_kind == ForKind::Vector) return check_independent(e, s, true);
  for (const StmtPtr& child : s->body) TRY(check_vectors(e, child));
  return ok();
}

}  // namespace

Status Schedule::vectorize(std::string_view name, int64_t lanes, std::string_view outer, std::string_view lane,
                           std::string_view tail, Rest kind) {
  Edit e(*this, "vectorize", name, lanes, "->", outer, lane, tail, kind == Rest::Halving ? "halving" : "");
  const StmtPtr old = TRY(e.find_serial_loop(name));
  if (lanes < 1 || lanes > kMostLanes) return e.refuse("there may be 1 to " + std::to_string(kMostLanes) + " lanes");
  if (kind == Rest::Halving && (lanes & (lanes - 1)) != 0) return e.refuse("the lanes are not a power of two");
  // Of a loop that only few iterations in a row are independent of, each vector is looked at.
  const bool all = check_independent(e, old, true).ok();
  const Dim extent = e.is_size(old->extent) ? old->extent : expr::max(e.ctx.constant(0), old->extent);
  const Dim whole = expr::floordiv(extent, lanes), rest = expr::mod(extent, lanes);
  std::vector<StmtPtr> parts;
  if (!whole.is_const(0)) {
    const Dim v = TRY(e.new_index(outer, whole)), l = TRY(e.new_index(lane, e.ctx.constant(lanes)));
    StmtPtr body = e.substitute(old->body[0], {{old->var, v * lanes + l}});
    body = make_for(l, e.ctx.constant(lanes), ForKind::Vector, body);
    parts.push_back(make_for(v, whole, ForKind::Serial, body));
  }
  if (!rest.is_const(0)) {
    const bool halves = kind == Rest::Halving && !rest.is_const() && lanes > 1;
    parts.push_back(halves ? TRY(halving_rest(e, old, extent, lanes, tail))
                           : TRY(masked_rest(e, old, whole, rest, lanes, tail)));
  }
  const StmtPtr now = loop::make_block(std::move(parts));
  if (!all) TRY(check_vectors(e, now));
  e.replace(old, now);
  return e.commit();
}

}  // namespace pliant::schedule
