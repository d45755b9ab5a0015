// for i in E { … i … }  ->  for io in T { for ii in size(io) { … start(io) + ii … } }, in one of three ways:
//   split         T = ceildiv(E, F), tiles of min(F, E - io*F) from io*F on
//   split_even    T = ceildiv(E, F), tiles of min(F, E/T + (io < E%T)) from io*(E/T) + min(io, E%T) on: 49 rows in tiles of
//                 at most 14 are 13 + 12 + 12 + 12, where `split` gives 14 + 14 + 14 + 7
//   split_blocks  T = ceildiv(ceildiv(E, F), most/F), tiles of min(S, E - io*S) from io*S on, where
//                 S = ceildiv(ceildiv(E, F), T)*F
#include <algorithm>

#include "schedule/edit.h"

namespace pliant::schedule {
namespace {

// The number of whole tiles of `size` that the extent consists of; nothing where it may have a rest.
std::optional<Dim> whole_tiles(Dim extent, Dim size, expr::Context& ctx) {
  if (!size.is_const()) return ctx.divide_exact(extent, size);
  if (!ctx.divisible(extent, size.const_value())) return std::nullopt;
  return expr::ceildiv(extent, size);
}

Status check_unmarked(const Edit& e, const StmtPtr& s) {
  if (s->for_kind != ForKind::Vector && s->for_kind != ForKind::Unroll) return ok();
  return e.refuse("loop " + e.name_of(s->var) + " is already marked " + loop::name_of(s->for_kind));
}

// Loop `old` as a loop `o` over tiles, and in it one over the `size` iterations from `start` on, which are at most `most`. A
// parallel loop leaves a grid over its tiles.
Status tile(Edit& e, const StmtPtr& old, Dim o, Dim tiles, std::string_view inner, Dim start, Dim size, Dim most,
            int64_t least = 1) {
  const Dim i = TRY(e.new_index(inner, size, most.is_const() ? most.const_value() - 1 : expr::kNoLimit));
  e.tiles.push_back({.outer = *o.as_symbol(),
                     .inner = *i.as_symbol(),
                     .start = start,
                     .one_outer = true,
                     .extent = old->extent,
                     .least = least});
  const StmtPtr body = e.substitute(old->body[0], {{old->var, start + i}});
  e.replace(old, make_for(o, tiles, old->for_kind, make_for(i, size, ForKind::Serial, body)));
  return e.commit();
}

}  // namespace

Status Schedule::split(std::string_view loop, int64_t factor, std::string_view outer, std::string_view inner) {
  return split(loop, ctx_.constant(factor), outer, inner);
}

Status Schedule::split(std::string_view loop, Dim size, std::string_view outer, std::string_view inner) {
  Edit e(*this, "split", loop, size, "->", outer, inner);
  const StmtPtr old = TRY(e.find_loop(loop));
  if (!e.ctx.proves_less_equal(e.ctx.constant(1), size))
    return e.refuse(size.is_const() ? "the factor is not positive" : "the factor is not known to be positive");
  TRY(check_known(e, size));
  TRY(check_unmarked(e, old));
  const std::optional<Dim> whole = whole_tiles(old->extent, size, e.ctx);
  const Dim tiles = whole ? *whole : expr::ceildiv(old->extent, size);
  const Dim o = TRY(e.new_index(outer, tiles));
  return tile(e, old, o, tiles, inner, o * size, whole ? size : expr::min(size, old->extent - o * size), size);
}

Status Schedule::split_even(std::string_view loop, int64_t factor, std::string_view outer, std::string_view inner) {
  Edit e(*this, "split_even", loop, factor, "->", outer, inner);
  const StmtPtr old = TRY(e.find_loop(loop));
  if (factor < 1) return e.refuse("the factor is not positive");
  TRY(check_unmarked(e, old));
  const Dim extent = old->extent, tiles = expr::ceildiv(extent, factor), most = e.ctx.constant(factor);
  const Dim o = TRY(e.new_index(outer, tiles)), one = e.ctx.constant(1);
  // No tile, no division: the divisor is at least one where it is evaluated.
  const Dim divisor = expr::max(one, tiles);
  const Dim base = expr::floordiv(extent, divisor), longer = expr::mod(extent, divisor);
  const Dim start = o * base + expr::min(o, longer);
  const Dim size = expr::min(most, base + expr::min(one, expr::max(e.ctx.constant(0), longer - o)));
  // One tile has all iterations; of factor + 1 of them there are two, and of more each has no less.
  const int64_t least = std::min(e.ctx.range(extent).lo, (factor + 1) / 2);
  return tile(e, old, o, tiles, inner, start, size, most, std::max<int64_t>(1, least));
}

Status Schedule::split_blocks(std::string_view loop, Dim most, int64_t factor, std::string_view outer,
                              std::string_view inner) {
  Edit e(*this, "split_blocks", loop, most, factor, "->", outer, inner);
  const StmtPtr old = TRY(e.find_serial_loop(loop));
  if (factor < 1 || !e.ctx.proves_less_equal(e.ctx.constant(factor), most))
    return e.refuse("a block is not known to hold " + std::to_string(factor) + " iterations");
  const std::optional<Dim> units = e.ctx.divide_exact(most, e.ctx.constant(factor));
  if (!units) return e.refuse(most.str() + " is not a multiple of " + std::to_string(factor));
  TRY(check_known(e, most));
  const Dim all = expr::ceildiv(old->extent, factor), blocks = expr::ceildiv(all, *units);
  // No block, no division: the divisor is at least one where it is evaluated.
  const Dim size = expr::ceildiv(all, expr::max(e.ctx.constant(1), blocks)) * factor;
  const Dim o = TRY(e.new_index(outer, blocks)), start = o * size;
  return tile(e, old, o, blocks, inner, start, expr::min(size, old->extent - start), most);
}

}  // namespace pliant::schedule
