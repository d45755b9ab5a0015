// for i in E { S }  ->  if n <= 48 { for i in E { S } } else { for i.1 in E { S } }.
#include "schedule/edit.h"

namespace pliant::schedule {

Status Schedule::version(std::string_view name, Dim size, int64_t most) {
  Edit e(*this, "version", name, size, most);
  const StmtPtr old = TRY(e.find_loop(name));
  TRY(check_known(e, size));
  if (old->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(name) + " is parallel");
  if (size.is_const()) return e.refuse("the size is known");
  e.replace(old, loop::make_if(expr::less_equal(size, e.ctx.constant(most)), old, e.copy(old)));
  return e.commit();
}

}  // namespace pliant::schedule
