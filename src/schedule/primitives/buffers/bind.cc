// Where an allocated buffer lives.
#include "schedule/edit.h"

namespace pliant::schedule {

Status Schedule::bind(std::string_view buffer, loop::Scope scope) {
  Edit e(*this, "bind", buffer, scope);
  Buffer b = TRY(e.find_buffer(buffer));
  StmtPtr alloc = e.alloc_of(b.id);
  if (!alloc) return e.refuse("%" + b.name + " is a param");
  TRY(e.check_scope("%" + b.name, b.shape, scope));
  b.scope = scope;
  e.replace(alloc, loop::make_alloc(b, alloc->body[0]));
  return e.commit();
}

}  // namespace pliant::schedule
