// for o … { S(a) }  ->  for o … { scratch t { t = a; S(t) } } for the part of a that S reads.
#include <algorithm>

#include "loop/lexer.h"
#include "schedule/region.h"

namespace pliant::schedule {

Status Schedule::cache_read(std::string_view buffer, std::string_view at, std::string_view name, loop::Scope scope,
                            const std::vector<int64_t>& order) {
  std::vector<std::string> words{"cache_read",           loop::quote_name(buffer), "at", loop::quote_name(at), "->",
                                 loop::quote_name(name), scope_text(scope)};
  if (!order.empty()) words.push_back(list_text(order));
  Edit e(*this, trace_line(words));
  Buffer a = TRY(e.find_buffer(buffer));
  StmtPtr home = TRY(e.find_loop(at));
  Inside in = inside_allocs(home->body[0]);
  std::vector<int64_t> dims = order;
  if (dims.empty())
    for (size_t k = 0; k < a.shape.size(); ++k) dims.push_back(static_cast<int64_t>(k));
  std::vector<int64_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = sorted.size() == a.shape.size();
  for (size_t k = 0; permutation && k < sorted.size(); ++k) permutation = sorted[k] == static_cast<int64_t>(k);
  if (!permutation) return e.refuse("the order is not a permutation of the dims of %" + a.name);

  std::vector<Access> accesses = accesses_of(in.body);
  for (const Access& x : accesses)
    if (x.buffer == a.id && x.is_store) return e.refuse("the body of " + std::string(at) + " writes %" + a.name);
  auto region = region_of(accesses, a.id, loops_below(in.body), e.ctx);
  if (!region) return e.refuse("the part of %" + a.name + " that the body of " + std::string(at) + " reads is not known");
  auto shape = shape_for(region->size, e.enclosing_loops(in.body), e.ctx);
  if (!shape || scope == Scope::Param) return e.refuse("a tile of %" + a.name + " has no known size");
  if (scope == Scope::Local)
    for (Dim d : *shape)
      if (!d.is_const()) return e.refuse("a tile of %" + a.name + " has no constant size");

  Buffer tile{.id = TRY(e.new_buffer(name)),
              .name = std::string(name),
              .dtype = a.dtype,
              .shape = permuted(*shape, dims),
              .strides = {},
              .scope = scope};
  Clamped part = clamp(*region, a.shape, e.ctx);
  std::vector<Dim> index, outside(a.shape.size()), within(a.shape.size());
  for (int64_t d : dims) {
    auto k = static_cast<size_t>(d);
    Dim v = e.derived_index(tile.name + ".in" + std::to_string(k), part.count[k], highest_index(part.count[k], e.ctx));
    index.push_back(v);
    outside[k] = part.start[k] + v;
    within[k] = part.start[k] - region->base[k] + v;
  }
  StmtPtr fill = loop::make_store(tile.id, permuted(within, dims), expr::make_load(e.ctx, a.id, a.dtype, outside));
  for (size_t k = dims.size(); k-- > 0;)
    fill = loop::make_for(*index[k].as_symbol(), part.count[static_cast<size_t>(dims[k])], ForKind::Serial, fill);
  StmtPtr body = redirect(in.body, a.id, tile.id, region->base, dims, e.ctx);
  StmtPtr alloc = loop::make_alloc(std::move(tile), loop::make_block({fill, body}));
  e.replace(home, loop::make_for(home->var, home->extent, home->for_kind, in.wrap(alloc)));
  return e.commit();
}

}  // namespace pliant::schedule
