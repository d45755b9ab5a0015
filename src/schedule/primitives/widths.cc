// for i in E { S(i) }  ->  for v in T { let f = … { let n = … { for l in n { S(f + l) } } } } where the tiles v are as many
// of the first width as there can be, then of the next one, and so on, and one of what is left.
//
// for v in T { let f = … { let n = … { for l in n { S(f + l) } } } }  ->
// for v in floordiv(E, 32) { for l in 32 { S(v*32 + l) } } for v.1 … { for l.1 in 16 { S(… + v.1*16 + l.1) } }
// if 0 < mod(E, 16) { for l.2 in 16 { if l.2 < mod(E, 16) { S(… + l.2) } } }
// or, where the last tile reaches back:
// if 0 < mod(E, 16) { if 16 <= E { for l.2 in 16 { S(E - 16 + l.2) } } else { for l.3 in 16 { if l.3 < … { … } } } }
#include "schedule/dependence.h"
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

// Tiles of a few widths, the widest first, and one of what is left.
class WidthTiles {
 public:
  // `widths`: each divides the one before it.
  WidthTiles(Dim extent, std::vector<int64_t> widths) : extent_(extent), widths_(std::move(widths)), ctx_(*extent->ctx) {}

  const std::vector<int64_t>& widths() const { return widths_; }
  Dim extent() const { return extent_; }
  // Of width k: where the first tile starts, how many there are, and how many tiles stand before them.
  Dim start(size_t k) const { return k == 0 ? ctx_.constant(0) : expr::floordiv(extent_, widths_[k - 1]) * widths_[k - 1]; }
  Dim count(size_t k) const { return expr::floordiv(k == 0 ? extent_ : expr::mod(extent_, widths_[k - 1]), widths_[k]); }
  Dim before(size_t k) const {
    Dim n = ctx_.constant(0);
    for (size_t j = 0; j < k; ++j) n = n + count(j);
    return n;
  }
  // What the tiles of all widths leave.
  Dim rest() const { return expr::mod(extent_, widths_.back()); }
  Dim tiles() const { return before(widths_.size()) + expr::min(ctx_.constant(1), rest()); }
  // Of tile `t`.
  Dim first(Dim t) const {
    Dim at = ctx_.constant(0);
    for (size_t k = 0; k < widths_.size(); ++k)
      at = at + expr::min(count(k), expr::max(ctx_.constant(0), t - before(k))) * widths_[k];
    return at;
  }
  Dim size(Dim t) const {
    Dim width = rest(), next = width;
    for (size_t k = widths_.size(); k-- > 0;) {
      const Dim w = ctx_.constant(widths_[k]);
      width = width + (w - next) * expr::min(ctx_.constant(1), expr::max(ctx_.constant(0), before(k + 1) - t));
      next = w;
    }
    return width;
  }

 private:
  Dim extent_;
  std::vector<int64_t> widths_;
  expr::Context& ctx_;
};

class Tiles {
 public:
  Tiles(Edit& e, StmtPtr loop, WidthTiles tiles, ForKind kind)
      : e_(e),
        loop_(std::move(loop)),
        tiles_(std::move(tiles)),
        kind_(kind),
        first_(loop_->body[0]),
        size_(first_->body[0]) {}

  // Whether the loop is as `split_widths` made it.
  static bool fits(const StmtPtr& loop, const WidthTiles& tiles) {
    const Dim v = tiles.extent()->ctx->symbol_dim(loop->var);
    const StmtPtr first = loop->body[0];
    return loop->extent == tiles.tiles() && first->kind == StmtKind::Let && first->extent == tiles.first(v) &&
           first->body[0]->kind == StmtKind::Let && first->body[0]->extent == tiles.size(v);
  }

  // The lanes may run at once.
  Status check_lanes() const {
    if (kind_ != ForKind::Vector) return ok();
    return check_vectors(e_, size_->body[0], [&](const Stmt& s) { return is_lanes(s); });
  }
  // A tile may run twice: it assigns, from nothing that it assigns.
  Status check_repeats() const {
    const std::vector<Access> all = accesses_of(size_->body[0]);
    for (const Access& a : all)
      for (const Access& b : all)
        if (a.is_update() || (a.is_store && !b.is_store && a.buffer == b.buffer))
          return e_.refuse("what loop " + e_.name_of(loop_->var) + " writes follows from what was there");
    return ok();
  }

  // The tiles of width k, side by side.
  StmtPtr of_width(size_t k) {
    const Dim count = tiles_.count(k);
    if (count.is_const(0)) return nullptr;
    const Dim v = k == 0 ? e_.rename(loop_->var, count) : e_.derived_index(e_.name_of(loop_->var), count);
    const Dim at = count.is_const(1) ? e_.ctx.constant(0) : v;
    return make_for(v, count, ForKind::Serial,
                    tile(tiles_.before(k) + at, tiles_.start(k) + at * tiles_.widths()[k], tiles_.widths()[k], Dim()));
  }
  StmtPtr last(bool reaches_back) {
    const Dim rest = tiles_.rest(), extent = tiles_.extent(), number = tiles_.before(tiles_.widths().size());
    if (rest.is_const(0)) return nullptr;
    const int64_t width = tiles_.widths().back();
    const Dim wide = e_.ctx.constant(width);
    const bool never_fits = e_.ctx.proves_less(extent, wide), fits = e_.ctx.proves_less_equal(wide, extent);
    StmtPtr s;
    if (!reaches_back || !fits) s = tile(number, expr::floordiv(extent, width) * width, width, rest);
    if (reaches_back && !never_fits) {
      const StmtPtr back = tile(number, extent - width, width, Dim());
      s = fits ? back : loop::make_if(expr::less_equal(wide, extent), back, s);
    }
    return rest.is_const() ? s : loop::make_if(expr::less(e_.ctx.constant(0), rest), s);
  }

 private:
  bool is_lanes(const Stmt& s) const { return s.kind == StmtKind::For && s.extent.as_symbol() == size_->var; }

  // Tile `number` from iteration `first` on, of which `valid` exist; null for all.
  StmtPtr tile(Dim number, Dim first, int64_t width, Dim valid) {
    StmtPtr body = made_ ? e_.copy(size_->body[0]) : size_->body[0];
    made_ = true;
    body = loop::rewrite(body, [&](const StmtPtr& s) -> StmtPtr {
      if (!is_lanes(*s)) return s;
      StmtPtr lane = s->body[0];
      if (valid) lane = loop::make_if(expr::less(e_.ctx.symbol_dim(s->var), valid), lane);
      return loop::make_for(s->var, e_.ctx.constant(width), kind_, lane);
    });
    const Dim size = valid ? valid : e_.ctx.constant(width);
    return without_known(e_.substitute(body, {{loop_->var, number}, {first_->var, first}, {size_->var, size}}));
  }

  Edit& e_;
  StmtPtr loop_;
  WidthTiles tiles_;
  ForKind kind_;
  StmtPtr first_, size_;  // the Lets
  bool made_ = false;
};

}  // namespace

Status Schedule::split_widths(std::string_view loop, const std::vector<int64_t>& widths, std::string_view outer,
                              std::string_view inner) {
  Edit e(*this, "split_widths", loop, widths, "->", outer, inner);
  const StmtPtr old = TRY(e.find_serial_loop(loop));
  if (widths.empty() || widths.back() < 1 || widths.front() > kMostLanes)
    return e.refuse("tiles have 1 to " + std::to_string(kMostLanes) + " iterations");
  for (size_t k = 1; k < widths.size(); ++k)
    if (widths[k] >= widths[k - 1] || widths[k - 1] % widths[k] != 0)
      return e.refuse("width " + std::to_string(widths[k]) + " does not divide the one before it");
  const WidthTiles tiles(e.is_size(old->extent) ? old->extent : expr::max(e.ctx.constant(0), old->extent), widths);
  const Dim v = TRY(e.new_index(outer, tiles.tiles())), first = tiles.first(v), size = tiles.size(v);
  const Dim f = TRY(e.new_index(std::string(outer) + ".first", first + 1));
  const Dim n = TRY(e.new_size(std::string(outer) + ".size", expr::min(e.ctx.constant(widths[0]), size)));
  const Dim l = TRY(e.new_index(inner, n, widths[0] - 1));
  e.tiles.push_back({*v.as_symbol(), *l.as_symbol(), f, false, tiles.extent(), widths});
  StmtPtr s = make_for(l, n, ForKind::Serial, e.substitute(old->body[0], {{old->var, f + l}}));
  s = loop::make_let(*f.as_symbol(), first, loop::make_let(*n.as_symbol(), size, s));
  e.replace(old, make_for(v, tiles.tiles(), ForKind::Serial, s));
  return e.commit();
}

Status Schedule::partition_widths(std::string_view name, loop::ForKind kind, bool reaches_back) {
  Edit e(*this, "partition_widths", name, kind == ForKind::Vector ? "vectorize" : "unroll", reaches_back ? "back" : "");
  const StmtPtr old = TRY(e.find_serial_loop(name));
  std::optional<WidthTiles> made;
  for (const LoopTile& t : e.tiles)
    if (t.outer == old->var && !t.widths.empty()) made.emplace(t.extent, t.widths);
  if (!made || !Tiles::fits(old, *made))
    return e.refuse("loop " + std::string(name) + " is not one of tiles that split_widths made");
  Tiles tiles(e, old, *made, kind);
  TRY(tiles.check_lanes());
  if (reaches_back) TRY(tiles.check_repeats());
  std::vector<StmtPtr> parts;
  for (size_t k = 0; k < made->widths().size(); ++k)
    if (StmtPtr s = tiles.of_width(k)) parts.push_back(s);
  if (StmtPtr s = tiles.last(reaches_back)) parts.push_back(s);
  e.replace(old, loop::make_block(std::move(parts)));
  return e.commit();
}

}  // namespace pliant::schedule
