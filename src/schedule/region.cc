#include "schedule/region.h"

#include <algorithm>

namespace pliant::schedule {

namespace {

// A region that contains every one of these accesses of a buffer, made while the loops of `inner` run. Nothing when the
// bounds of an index are not known.
std::optional<Region> region_of(const std::vector<Access>& accesses, const Extents& inner, expr::Context& ctx) {
  std::optional<std::vector<Bounds>> all;
  for (const Access& a : accesses) {
    std::vector<Bounds> here;
    for (Dim d : a.index) {
      if (!expr::loads_of(expr::make_index(d)).empty()) return std::nullopt;
      auto b = bounds_of(d, inner, ctx);
      if (!b) return std::nullopt;
      here.push_back(*b);
    }
    if (!all) {
      all = std::move(here);
      continue;
    }
    for (size_t k = 0; k < here.size(); ++k) {
      Bounds& b = (*all)[k];
      if (!ctx.proves_less_equal(b.lo, here[k].lo))
        b.lo = ctx.proves_less_equal(here[k].lo, b.lo) ? here[k].lo : expr::min(b.lo, here[k].lo);
      if (!ctx.proves_less_equal(here[k].hi, b.hi))
        b.hi = ctx.proves_less_equal(b.hi, here[k].hi) ? here[k].hi : expr::max(b.hi, here[k].hi);
    }
  }
  if (!all) return std::nullopt;
  Region r;
  for (const Bounds& b : *all) {
    r.base.push_back(b.lo);
    r.size.push_back(b.hi - b.lo + 1);
  }
  return r;
}

}  // namespace

std::optional<std::vector<Dim>> shape_for(const std::vector<Dim>& size, const Extents& around, expr::Context& ctx) {
  std::vector<Dim> shape;
  for (Dim d : size) {
    constexpr int64_t kReasonable = int64_t{1} << 40;
    int64_t highest = ctx.range(d).hi;
    if (highest <= kReasonable) {
      shape.push_back(ctx.constant(std::max<int64_t>(highest, 0)));
      continue;
    }
    auto bounds = bounds_of(d, around, ctx);
    if (!bounds) return std::nullopt;
    shape.push_back(bounds->hi);
  }
  return shape;
}

Result<Tile> tile_of(const Edit& e, const Buffer& b, const StmtPtr& body, Scope scope) {
  auto region = region_of(accesses_of(body, b.id), loops_below(body), e.ctx);
  if (!region) return e.refuse("the part of %" + b.name + " that the loop's body touches is not known");
  auto shape = shape_for(region->size, e.enclosing_loops(body), e.ctx);
  if (!shape) return e.refuse("a tile of %" + b.name + " has no known size");
  TRY(e.check_scope("a tile of %" + b.name, *shape, scope));
  return Tile{*region, *shape};
}

Clamped clamp(const Region& region, const std::vector<Dim>& shape, expr::Context& ctx) {
  Clamped c;
  for (size_t k = 0; k < shape.size(); ++k) {
    Dim zero = ctx.constant(0), base = region.base[k], end = base + region.size[k];
    Dim start = ctx.proves_less_equal(zero, base) ? base : expr::max(zero, base);
    Dim stop = ctx.proves_less_equal(end, shape[k]) ? end : expr::min(end, shape[k]);
    c.start.push_back(start);
    c.count.push_back(stop - start);
  }
  return c;
}

int64_t highest_index(Dim extent, expr::Context& ctx) {
  int64_t highest = ctx.range(extent).hi;
  return highest > 0 && highest < (int64_t{1} << 40) ? highest - 1 : expr::kNoLimit;
}

std::optional<Cover> covering(const StmtPtr& root, BufferId buffer, const Region& region, expr::Context& ctx) {
  Extents loops;
  StmtPtr s = root;
  for (; s->kind == StmtKind::For; s = s->body[0]) loops.emplace_back(s->var, s->extent);
  if (s->kind != StmtKind::Store || s->buffer != buffer) return std::nullopt;
  for (size_t k = 0; k < s->index.size(); ++k) {
    Dim rest = s->index[k] - region.base[k];
    if (rest.is_const(0) && ctx.proves_equal(region.size[k], ctx.constant(1))) continue;
    auto var = rest.as_symbol();
    auto at = std::find_if(loops.begin(), loops.end(), [&](auto& l) { return var && l.first == *var; });
    if (at == loops.end() || !ctx.proves_equal(at->second, region.size[k])) return std::nullopt;
    loops.erase(at);
  }
  if (!loops.empty()) return std::nullopt;
  Cover c{s, s->store_kind != StoreKind::Assign};
  for (const Access& a : accesses_of(root, buffer)) c.reads_buffer |= !a.is_store;
  return c;
}

std::vector<Dim> permuted(const std::vector<Dim>& dims, const std::vector<int64_t>& order) {
  if (order.empty()) return dims;
  std::vector<Dim> out;
  for (int64_t k : order) out.push_back(dims[static_cast<size_t>(k)]);
  return out;
}

StmtPtr redirect(const StmtPtr& root, BufferId from, BufferId to, const std::vector<Dim>& base,
                 const std::vector<int64_t>& order, expr::Context& ctx) {
  return redirect(root, from, to, ctx, [&](std::vector<Dim> index) {
    for (size_t k = 0; k < index.size(); ++k) index[k] = index[k] - base[k];
    return permuted(index, order);
  });
}

StmtPtr redirect(const StmtPtr& root, BufferId from, BufferId to, expr::Context& ctx,
                 const std::function<std::vector<Dim>(std::vector<Dim>)>& moved) {
  return loop::redirect(root, ctx, [&](BufferId b, const std::vector<Dim>& index) {
    return b == from ? std::optional(loop::Element{to, moved(index)}) : std::nullopt;
  });
}

}  // namespace pliant::schedule
