// for i in E { A } for j in E { B }  ->  for i in E { A; B }.
#include <algorithm>

#include "schedule/dependence.h"

namespace pliant::schedule {

Status Schedule::merge(std::string_view first, std::string_view second) {
  Edit e(*this, "merge", first, second);
  StmtPtr a = TRY(e.find_loop(first)), b = TRY(e.find_loop(second));
  auto path = e.enclosing(a);
  std::vector<StmtPtr> around = path.empty() ? std::vector<StmtPtr>{} : statements_of(path.back());
  auto at = std::find(around.begin(), around.end(), a);
  if (at == around.end() || at + 1 == around.end() || at[1] != b)
    return e.refuse("loop " + std::string(second) + " does not follow loop " + std::string(first));
  if (!e.ctx.proves_equal(a->extent, b->extent)) return e.refuse("the extents are not known to be equal");
  if (a->for_kind != b->for_kind)
    return e.refuse(std::string("one loop is ") + loop::name_of(a->for_kind) + ", the other " + loop::name_of(b->for_kind));
  expr::DimMap renamed{{b->var, e.ctx.symbol_dim(a->var)}};
  StmtPtr body = e.substitute(b->body[0], renamed);
  StmtPtr merged = loop::with_body(a, {loop::make_block({a->body[0], body})});
  if (auto hit = carried(accesses_of(a->body[0]), accesses_of(body), a->var, loops_below(merged), e))
    return e.refuse("the loops touch the same elements of %" + loop::find_buffer(e.function, *hit)->name +
                    " in different iterations");
  std::vector<StmtPtr> now(around.begin(), at);
  now.push_back(merged);
  now.insert(now.end(), at + 2, around.end());
  e.replace(path.back(), loop::make_block(std::move(now)));
  return e.commit();
}

}  // namespace pliant::schedule
