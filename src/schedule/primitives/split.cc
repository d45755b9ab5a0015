// for i in E { … i … }  ->  for io in ceildiv(E, F) { for ii in min(F, E - io*F) { … io*F + ii … } }
#include <algorithm>

#include "loop/lexer.h"
#include "loop/print_expr.h"
#include "schedule/edit.h"

namespace pliant::schedule {
namespace {

// The number of whole tiles of `size` that the extent consists of; nothing where it may have a rest.
std::optional<Dim> whole_tiles(Dim extent, Dim size, expr::Context& ctx) {
  if (!size.is_const()) return ctx.divide_exact(extent, size);
  if (!ctx.divisible(extent, size.const_value())) return std::nullopt;
  return expr::ceildiv(extent, size);
}

}  // namespace

Status Schedule::split(std::string_view loop, int64_t factor, std::string_view outer, std::string_view inner) {
  return split(loop, ctx_.constant(factor), outer, inner);
}

Status Schedule::split(std::string_view loop, Dim size, std::string_view outer, std::string_view inner) {
  const std::string text = loop::ExprPrinter(ctx_).dim(size);
  Edit e(*this, trace_line({"split", loop::quote_name(loop), size.is_const() ? text : "[" + text + "]", "->",
                            loop::quote_name(outer), loop::quote_name(inner)}));
  StmtPtr old = TRY(e.find_loop(loop));
  if (!e.ctx.proves_less_equal(e.ctx.constant(1), size))
    return e.refuse(size.is_const() ? "the factor is not positive" : "the factor is not known to be positive");
  TRY(check_known(e, size));
  if (old->for_kind == ForKind::Vector || old->for_kind == ForKind::Unroll)
    return e.refuse("loop " + std::string(loop) + " is already marked " + loop::name_of(old->for_kind));
  const Dim extent = old->extent;
  const std::optional<Dim> tiles = whole_tiles(extent, size, e.ctx);
  const Dim count = tiles ? *tiles : expr::ceildiv(extent, size);
  Dim o = TRY(e.new_index(outer, count));
  const Dim inner_extent = tiles ? size : expr::min(size, extent - o * size);
  Dim i = TRY(e.new_index(inner, inner_extent, size.is_const() ? size.const_value() - 1 : expr::kNoLimit));
  e.tiles.push_back({*o.as_symbol(), *i.as_symbol(), o * size, true});
  StmtPtr body = e.substitute(old->body[0], {{old->var, o * size + i}});
  // A parallel loop leaves a grid over its tiles.
  StmtPtr in = loop::make_for(*i.as_symbol(), inner_extent, ForKind::Serial, body);
  e.replace(old, loop::make_for(*o.as_symbol(), count, old->for_kind, in));
  return e.commit();
}

}  // namespace pliant::schedule
