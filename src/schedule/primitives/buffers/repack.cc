// Another layout of a param that is only read: dim d of size S becomes (ceildiv(S, F), F), then the dims are permuted.
#include <algorithm>

#include "schedule/region.h"

namespace pliant::schedule {

Status Schedule::repack(std::string_view param, int64_t dim, int64_t factor, const std::vector<int64_t>& order,
                        std::string_view name) {
  Edit e(*this, "repack", param, dim, factor, order, "->", name);
  Buffer old = TRY(e.find_buffer(param));
  auto rank = static_cast<int64_t>(old.shape.size());
  if (old.scope != Scope::Param || old.is_output) return e.refuse("%" + old.name + " is not a param that is only read");
  if (merged_.count(old.id)) return e.refuse("axes of %" + old.name + " were merged");
  if (dim < 0 || dim >= rank || factor < 1) return e.refuse("there is no such dimension or factor");
  if (!is_permutation(order, old.shape.size() + 1))
    return e.refuse("the order is not a permutation of " + std::to_string(rank + 1) + " dims");
  auto at = static_cast<size_t>(dim);
  auto laid_out = [&](std::vector<Dim> dims, Dim outer, Dim inner) {
    dims[at] = outer;
    dims.insert(dims.begin() + dim + 1, inner);
    return permuted(dims, order);
  };
  Buffer now = old;
  now.id = TRY(e.new_buffer(name));
  now.name = name;
  if (!old.strides.empty()) {
    if (!std::is_sorted(order.begin(), order.end())) return e.refuse("%" + old.name + " has strides");
    now.strides.insert(now.strides.begin() + dim, old.strides[at] * factor);
  }
  now.shape = laid_out(old.shape, expr::ceildiv(old.shape[at], factor), e.ctx.constant(factor));
  std::vector<Buffer>& params = e.params_to_change();
  auto position = std::find_if(params.begin(), params.end(), [&](const Buffer& b) { return b.id == old.id; });
  Repack record{static_cast<size_t>(position - params.begin()), dim, factor, order};
  *position = now;
  e.set_body(loop::substitute(e.function.body, {}, [&](Scalar l) {
    if (l->tensor != old.id) return l;
    Dim i = l->index[at];
    return expr::make_load(e.ctx, now.id, l.dtype(), laid_out(l->index, expr::floordiv(i, factor), expr::mod(i, factor)));
  }));
  TRY(e.commit());
  repacks_.push_back(std::move(record));
  return ok();
}

}  // namespace pliant::schedule
