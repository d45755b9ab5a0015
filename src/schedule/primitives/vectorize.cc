// for i in E { S(i) }  ->  for v in floordiv(E, W) { for vector l in W { S(v*W + l) } }
//                          if 0 < mod(E, W) { for vector t in W { if t < mod(E, W) { S(floordiv(E, W)*W + t) } } }
// or, halving, for H = W/2, W/4 … 1:
//                          if H <= mod(E, 2*H) { for vector t in H { S(floordiv(E, 2*H)*2*H + t) } }
// or, whole, for v in ceildiv(E, W) { for vector l in W { S(v*W + l) } } where S works on allocated buffers alone; of what
// else it adds to them, if 0 < mod(E, W) { for vector t in W { acc[… + t] += e(t < mod(E, W) ? x[… + t] : 0) } }
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

// The further lanes of the last vector, where all are computed: they write elements of allocated buffers that nothing reads.
class FurtherLanes {
 public:
  FurtherLanes(const Edit& e, const StmtPtr& loop) : e_(e), loop_(loop) {}

  Status check(const StmtPtr& s) {
    if (s->kind == StmtKind::Store) return store(*s);
    const bool varies = s->kind == StmtKind::For && expr::uses_symbol(s->extent, loop_->var);
    if (varies || (s->kind != StmtKind::For && s->kind != StmtKind::Block))
      return e_.refuse("loop " + e_.name_of(loop_->var) + " does more than to add and to assign");
    for (const StmtPtr& child : s->body) TRY(check(child));
    return ok();
  }
  // Buffers that need room for whole vectors, and the axis along which they do.
  const std::map<BufferId, size_t>& axes() const { return axes_; }
  // Whether some of what is added is read where it may not exist.
  bool has_guarded() const { return !guarded_.empty(); }
  // In lane `rest` and further what may not exist is not read: it is 0 in sums of floats, as is what is added to others.
  StmtPtr guarded(const StmtPtr& body, Dim t, Dim rest) const {
    auto where_it_exists = [&](Scalar x) {
      return expr::make_select(expr::less(t, rest), x, expr::make_const(e_.ctx, x->dtype, 0));
    };
    const auto load = [&](Scalar l) { return expr::uses_symbol(l, *t.as_symbol()) ? where_it_exists(l) : l; };
    return loop::rewrite(body, [&](const StmtPtr& s) -> StmtPtr {
      if (s->kind != StmtKind::Store || !guarded_.count(s->buffer)) return s;
      const Scalar v = s->value;
      return loop::make_store(s->buffer, s->index, is_float(v->dtype) ? expr::substitute(v, {}, load) : where_it_exists(v),
                              s->store_kind);
    });
  }

 private:
  Status store(const Stmt& s) {
    const bool adds = s.store_kind == StoreKind::Add;
    TRY(take(s.buffer, TRY(axis_beyond(e_, loop_, s))));
    if (uses_bound(loop_->extent, e_.alloc_of(s.buffer)))
      return e_.refuse("the number of lanes differs between uses of a buffer");
    const Dim i = e_.ctx.symbol_dim(loop_->var);
    for (Scalar l : expr::loads_of(s.value)) {
      const auto uses =
          std::count_if(l->index.begin(), l->index.end(), [&](Dim d) { return expr::uses_symbol(d, loop_->var); });
      if (uses == 0) continue;
      const auto at = std::find(l->index.begin(), l->index.end(), i);
      if (uses == 1 && at != l->index.end() && e_.alloc_of(l->tensor)) {
        TRY(take(l->tensor, static_cast<size_t>(at - l->index.begin())));
      } else if (adds) {
        guarded_.insert(s.buffer);
      } else {
        return e_.refuse("what is assigned is read where it may not exist");
      }
    }
    if (adds || s.store_kind == StoreKind::Assign) return ok();
    return e_.refuse("the body does more than to add and to assign");
  }
  Status take(BufferId id, size_t axis) {
    const Buffer& b = *loop::find_buffer(e_.function, id);
    if (b.strides.empty() && axes_.emplace(id, axis).first->second == axis) return ok();
    return e_.refuse("%" + b.name + " cannot grow");
  }

  const Edit& e_;
  const StmtPtr loop_;
  std::map<BufferId, size_t> axes_;
  std::set<BufferId> guarded_;  // to which what may not exist is added
};

// What follows the `whole` vectors of `old`: the body over the last `rest` iterations.
Result<StmtPtr> masked_rest(Edit& e, const StmtPtr& old, Dim whole, Dim rest, int64_t lanes, std::string_view tail,
                            const FurtherLanes* further) {
  // A rest that is known gets a vector of its own size.
  int64_t width = lanes;
  while (rest.is_const() && width / 2 >= rest.const_value()) width /= 2;
  const Dim t = TRY(e.new_index(tail, e.ctx.constant(width)));
  StmtPtr body = whole.is_const(0) ? old->body[0] : e.copy(old->body[0]);
  body = e.substitute(body, {{old->var, whole * lanes + t}});
  if (!rest.is_const(width)) body = further ? further->guarded(body, t, rest) : loop::make_if(expr::less(t, rest), body);
  if (further) e.tiles.push_back({*t.as_symbol(), *t.as_symbol(), whole * lanes, false, old->extent});
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

}  // namespace

Status Schedule::vectorize(std::string_view name, int64_t lanes, std::string_view outer, std::string_view lane,
                           std::string_view tail, Rest kind) {
  Edit e(*this, "vectorize", name, lanes, "->", outer, lane, tail,
         kind == Rest::Halving ? "halving"
         : kind == Rest::Whole ? "whole"
                               : "");
  const StmtPtr old = TRY(e.find_serial_loop(name));
  if (lanes < 1 || lanes > kMostLanes) return e.refuse("there may be 1 to " + std::to_string(kMostLanes) + " lanes");
  if (kind == Rest::Halving && (lanes & (lanes - 1)) != 0) return e.refuse("the lanes are not a power of two");
  // Of a loop that only few iterations in a row are independent of, each vector is looked at.
  const bool all = check_independent(e, old, true).ok();
  const Dim extent = e.is_size(old->extent) ? old->extent : expr::max(e.ctx.constant(0), old->extent);
  Dim whole = expr::floordiv(extent, lanes), rest = expr::mod(extent, lanes);
  std::optional<FurtherLanes> further;
  if (kind == Rest::Whole && !rest.is_const(0)) {
    further.emplace(e, old);
    TRY(further->check(old->body[0]));
    if (!further->has_guarded() && !rest.is_const()) {
      whole = expr::ceildiv(extent, lanes);
      rest = e.ctx.constant(0);
    }
  }
  std::vector<StmtPtr> parts;
  if (!whole.is_const(0)) {
    const Dim v = TRY(e.new_index(outer, whole)), l = TRY(e.new_index(lane, e.ctx.constant(lanes)));
    StmtPtr body = e.substitute(old->body[0], {{old->var, v * lanes + l}});
    body = make_for(l, e.ctx.constant(lanes), ForKind::Vector, body);
    if (further) e.tiles.push_back({*v.as_symbol(), *l.as_symbol(), v * lanes, false, old->extent});
    parts.push_back(make_for(v, whole, ForKind::Serial, body));
  }
  if (!rest.is_const(0)) {
    const bool halves = kind == Rest::Halving && !rest.is_const() && lanes > 1;
    parts.push_back(halves ? TRY(halving_rest(e, old, extent, lanes, tail))
                           : TRY(masked_rest(e, old, whole, rest, lanes, tail, further ? &*further : nullptr)));
  }
  const StmtPtr now = loop::make_block(std::move(parts));
  const auto is_vector = [](const Stmt& s) { return s.kind == StmtKind::For && s.for_kind == ForKind::Vector; };
  if (!all) TRY(check_vectors(e, now, is_vector));
  e.replace(old, now);
  if (further) grow(e, further->axes(), [&](Dim size) { return expr::ceildiv(size, lanes) * lanes; });
  return e.commit();
}

}  // namespace pliant::schedule
