// scratch t { S(t) for x … { y[x] = E(t[x]) } }  ->  S(y) for x … { y[x] = E(y[x]) }: an intermediate lies where the result
// does, so that less memory is touched and what the caches have to fetch for y comes while t is computed.
#include <algorithm>

#include "schedule/region.h"

namespace pliant::schedule {

Status Schedule::in_place(std::string_view buffer, std::string_view result) {
  Edit e(*this, "in_place", buffer, result);
  const Buffer b = TRY(e.find_buffer(buffer)), y = TRY(e.find_buffer(result));
  const StmtPtr alloc = e.alloc_of(b.id);
  if (!alloc || !y.is_output) return e.refuse("%" + b.name + " is not allocated, or %" + y.name + " is no output");
  if (b.dtype != y.dtype || b.shape != y.shape)
    return e.refuse("%" + b.name + " and %" + y.name + " differ in type or shape");
  const StmtPtr body = inside_allocs(alloc->body[0]).body, last = statements_of(body).back();
  const std::optional<Cover> cover =
      covering(last, y.id, {std::vector<Dim>(y.shape.size(), e.ctx.constant(0)), y.shape}, e.ctx);
  if (!cover || cover->reads_buffer || accesses_of(e.function.body, y.id).size() != 1)
    return e.refuse("%" + y.name + " is not assigned once, by the last nest around which %" + b.name + " is allocated");
  const std::vector<Access> uses = accesses_of(last, b.id);
  if (!std::all_of(uses.begin(), uses.end(), [&](const Access& a) { return a.index == cover->store->index; }))
    return e.refuse("an element of %" + y.name + " follows from others of %" + b.name);
  const std::vector<Dim> zero(b.shape.size(), e.ctx.constant(0));
  e.replace(alloc, redirect(alloc->body[0], b.id, y.id, zero, {}, e.ctx));
  return e.commit();
}

}  // namespace pliant::schedule
