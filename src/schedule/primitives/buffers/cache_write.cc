// for o … { A(c); B(c) }  ->  for o … { local t { A(t); B(t); c = t } }, or { local t { A(t); c = B(t) } } when B assigns
// every element once.
#include "schedule/region.h"

namespace pliant::schedule {
namespace {

// for v0 in size[0] { for v1 … { body(v) } }, without the loops of one iteration.
StmtPtr nest_over(Edit& e, const std::string& name, const std::vector<Dim>& size,
                  const std::function<StmtPtr(const std::vector<Dim>&)>& body) {
  std::vector<Dim> index;
  for (size_t k = 0; k < size.size(); ++k)
    index.push_back(size[k].is_const(1) ? e.ctx.constant(0)
                                        : e.derived_index(name + std::to_string(k), size[k], highest_index(size[k], e.ctx)));
  StmtPtr s = body(index);
  for (size_t k = size.size(); k-- > 0;)
    if (!size[k].is_const(1)) s = make_for(index[k], size[k], ForKind::Serial, s);
  return s;
}

// The covering nest `root` on the tile, except that its store goes to `c` itself.
StmtPtr write_through(Edit& e, const StmtPtr& root, const Stmt& store, const Buffer& c, const Region& region,
                      BufferId tile) {
  Scalar value = store.value;
  if (auto op = loop::update_of(store.store_kind))
    value = expr::make_binary(*op, expr::make_load(e.ctx, c.id, c.dtype, store.index), value);
  StmtPtr direct = loop::rewrite(root, [&](const StmtPtr& s) -> StmtPtr {
    return s->kind == StmtKind::Store ? loop::make_store(c.id, s->index, value) : s;
  });
  // Only the loads move to the tile.
  StmtPtr moved = redirect(direct, c.id, tile, region.base, {}, e.ctx);
  return loop::rewrite(moved, [&](const StmtPtr& s) -> StmtPtr {
    return s->kind == StmtKind::Store ? loop::make_store(c.id, store.index, s->value) : s;
  });
}

}  // namespace

Status Schedule::cache_write(std::string_view buffer, std::string_view at, std::string_view name, loop::Scope scope) {
  Edit e(*this, "cache_write", buffer, "at", at, "->", name, scope);
  Buffer c = TRY(e.find_buffer(buffer));
  const StmtPtr whole = at == "root" ? e.function.body : TRY(e.find_loop(at))->body[0];
  Inside in = inside_allocs(whole);
  StmtPtr body = in.body;
  const auto [region, shape] = TRY(tile_of(e, c, body, scope));

  std::vector<StmtPtr> parts = statements_of(body);
  std::optional<size_t> first, last;
  bool covered = false;
  for (size_t k = 0; k < parts.size(); ++k) {
    if (accesses_of(parts[k], c.id).empty()) continue;
    if (!first) first = k;
    last = k;
    covered |= covering(parts[k], c.id, region, e.ctx).has_value();
  }
  // The tile is stored as a whole, so that the program must write, or at least touch, all of it.
  if (!covered) return e.refuse("no statement of the body assigns all of its part of %" + c.name + ", each element once");
  auto start = covering(parts[*first], c.id, region, e.ctx), end = covering(parts[*last], c.id, region, e.ctx);
  bool needs_load = !start || start->reads_buffer;
  bool through = end.has_value() && *first != *last;

  Buffer tile = TRY(e.new_buffer(name, c.dtype, shape, scope));
  std::vector<StmtPtr> now;
  auto copy = [&](const char* what, bool load) {
    return nest_over(e, tile.name + what, region.size, [&](const std::vector<Dim>& v) {
      std::vector<Dim> outside = v;
      for (size_t k = 0; k < v.size(); ++k) outside[k] = region.base[k] + v[k];
      return load ? loop::make_store(tile.id, v, expr::make_load(e.ctx, c.id, c.dtype, outside))
                  : loop::make_store(c.id, outside, expr::make_load(e.ctx, tile.id, c.dtype, v));
    });
  };
  if (needs_load) now.push_back(copy(".in", true));
  for (size_t k = 0; k < parts.size(); ++k) {
    bool direct = through && k == *last;
    now.push_back(direct ? write_through(e, parts[k], *end->store, c, region, tile.id)
                         : redirect(parts[k], c.id, tile.id, region.base, {}, e.ctx));
  }
  if (!through) now.push_back(copy(".out", false));
  StmtPtr alloc = loop::make_alloc(std::move(tile), loop::make_block(std::move(now)));
  e.replace(whole, in.wrap(alloc));
  return e.commit();
}

}  // namespace pliant::schedule
