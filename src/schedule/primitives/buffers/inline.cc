// scratch t { for v … { t[v] = E(v) } S(t[x]) }  ->  S(E(x)).
#include "schedule/producer.h"

namespace pliant::schedule {

Status Schedule::inline_buffer(std::string_view buffer) {
  Edit e(*this, "inline", buffer);
  Buffer b = TRY(e.find_buffer(buffer));
  Producer p = TRY(find_producer(e, b));
  if (p.body->kind != StmtKind::Store || p.body->store_kind != StoreKind::Assign)
    return e.refuse("%" + b.name + " is not computed by one assignment");
  for (Scalar l : expr::loads_of(p.body->value))
    if (l->tensor == b.id) return e.refuse("%" + b.name + " is computed from itself");
  StmtPtr without = loop::rewrite(p.alloc->body[0], [&](const StmtPtr& s) { return s == p.nest ? nullptr : s; });
  if (!without) without = loop::make_block({});
  StmtPtr inlined = loop::substitute(without, {}, [&](Scalar l) {
    if (l->tensor != b.id) return l;
    expr::DimMap at;
    for (size_t k = 0; k < p.loops.size(); ++k) at[p.loops[k]->var] = l->index[k];
    return expr::substitute(p.body->value, at);
  });
  e.replace(p.alloc, inlined);
  return e.commit();
}

}  // namespace pliant::schedule
