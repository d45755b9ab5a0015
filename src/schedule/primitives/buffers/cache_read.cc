// for o … { S(a) }  ->  for o … { scratch t { t = a; S(t) } } for the part of a that S reads.
#include "schedule/region.h"

namespace pliant::schedule {

Status Schedule::cache_read(std::string_view buffer, std::string_view at, std::string_view name, loop::Scope scope,
                            const std::vector<int64_t>& order) {
  Edit e(*this, "cache_read", buffer, "at", at, "->", name, scope, order);
  Buffer a = TRY(e.find_buffer(buffer));
  StmtPtr home = TRY(e.find_loop(at));
  Inside in = inside_allocs(home->body[0]);
  std::vector<int64_t> dims = order;
  if (dims.empty())
    for (size_t k = 0; k < a.shape.size(); ++k) dims.push_back(static_cast<int64_t>(k));
  if (!is_permutation(dims, a.shape.size())) return e.refuse("the order is not a permutation of the dims of %" + a.name);
  for (const Access& x : accesses_of(in.body))
    if (x.buffer == a.id && x.is_store) return e.refuse("the body of " + std::string(at) + " writes %" + a.name);
  const auto [region, shape] = TRY(tile_of(e, a, in.body, scope));

  Buffer tile = TRY(e.new_buffer(name, a.dtype, permuted(shape, dims), scope));
  Clamped part = clamp(region, a.shape, e.ctx);
  std::vector<Dim> index, outside(a.shape.size()), within(a.shape.size());
  for (int64_t d : dims) {
    auto k = static_cast<size_t>(d);
    Dim v = e.derived_index(tile.name + ".in" + std::to_string(k), part.count[k], highest_index(part.count[k], e.ctx));
    index.push_back(v);
    outside[k] = part.start[k] + v;
    within[k] = part.start[k] - region.base[k] + v;
  }
  StmtPtr fill = loop::make_store(tile.id, permuted(within, dims), expr::make_load(e.ctx, a.id, a.dtype, outside));
  for (size_t k = dims.size(); k-- > 0;)
    fill = make_for(index[k], part.count[static_cast<size_t>(dims[k])], ForKind::Serial, fill);
  StmtPtr body = redirect(in.body, a.id, tile.id, region.base, dims, e.ctx);
  StmtPtr alloc = loop::make_alloc(std::move(tile), loop::make_block({fill, body}));
  e.replace(home, loop::with_body(home, {in.wrap(alloc)}));
  return e.commit();
}

}  // namespace pliant::schedule
