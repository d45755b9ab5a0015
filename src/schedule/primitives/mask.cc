// for i in min(C, X) { S }  ->  for i in C { if i < X { S } }.
#include "expr/parts.h"
#include "schedule/primitives/tail.h"

namespace pliant::schedule {

std::optional<Tail> tail_of(Dim extent, expr::Context& ctx) {
  if (const expr::Atom* cut = expr::as_atom(extent); cut && cut->kind == expr::AtomKind::Min) {
    std::optional<int64_t> limit;
    Dim rest;
    for (Dim d : cut->args) {
      if (d.is_const()) {
        limit = d.const_value();
      } else {
        rest = rest ? expr::min(rest, d) : d;
      }
    }
    if (limit && rest) return Tail{*limit, rest};
  }
  int64_t highest = ctx.range(extent).hi;
  constexpr int64_t kReasonable = 1 << 20;
  if (extent.is_const() || highest < 1 || highest > kReasonable) return std::nullopt;
  return Tail{highest, extent};
}

StmtPtr widened(Edit& e, const StmtPtr& loop, int64_t limit) {
  const expr::SymbolInfo& info = e.ctx.info(loop->var);
  if (!info.upper && info.hi >= limit - 1) return loop;
  Dim var = e.rename(loop->var, e.ctx.constant(limit));
  StmtPtr body = e.substitute(loop->body[0], {{loop->var, var}});
  return make_for(var, loop->extent, loop->for_kind, body);
}

bool is_mask(const Stmt& s, SymbolId var, Dim extent, expr::Context& ctx) {
  auto tail = tail_of(extent, ctx);
  if (s.kind != StmtKind::If || s.body.size() != 1 || !tail || s.value->kind != expr::ScalarKind::Binary) return false;
  const Scalar x = s.value->args[0], y = s.value->args[1];
  return s.value->binary() == expr::BinaryOp::Lt && x->kind == expr::ScalarKind::Index &&
         y->kind == expr::ScalarKind::Index && y->index[0] - x->index[0] == tail->rest - ctx.symbol_dim(var);
}

Result<StmtPtr> masked(Edit& e, const StmtPtr& loop) {
  auto tail = tail_of(loop->extent, e.ctx);
  if (!tail) return e.refuse("the extent of loop " + e.name_of(loop->var) + " has no constant bound");
  StmtPtr wide = widened(e, loop, tail->limit);
  e.padded[wide->var] = loop->extent;
  // Of a tile the place in the whole is compared, which the body mostly has.
  Dim start = e.ctx.constant(0);
  for (const LoopTile& t : e.tiles)
    if (t.inner == wide->var) start = t.start;
  const Scalar exists = expr::less(start + e.ctx.symbol_dim(wide->var), start + tail->rest);
  StmtPtr body = loop::make_if(exists, wide->body[0]);
  return loop::make_for(wide->var, e.ctx.constant(tail->limit), loop->for_kind, body);
}

Status Schedule::mask(std::string_view name) {
  Edit e(*this, "mask", name);
  StmtPtr s = TRY(e.find_loop(name));
  if (s->extent.is_const()) return e.refuse("the extent of loop " + std::string(name) + " is constant");
  if (s->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(name) + " is parallel");
  e.replace(s, TRY(masked(e, s)));
  return e.commit();
}

}  // namespace pliant::schedule
