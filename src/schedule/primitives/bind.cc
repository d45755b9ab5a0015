// Where an allocated buffer lives.
#include "loop/lexer.h"
#include "schedule/edit.h"

namespace pliant::schedule {

Status Schedule::bind(std::string_view buffer, loop::Scope scope) {
  Edit e(*this, trace_line({"bind", loop::quote_name(buffer), scope_text(scope)}));
  Buffer b = TRY(e.find_buffer(buffer));
  StmtPtr alloc = e.alloc_of(b.id);
  if (!alloc || scope == Scope::Param) return e.refuse("only allocated buffers move, and not to the params");
  if (scope == Scope::Local)
    for (Dim d : b.shape)
      if (!d.is_const()) return e.refuse("the shape of %" + b.name + " is not constant");
  b.scope = scope;
  e.replace(alloc, loop::make_alloc(b, alloc->body[0]));
  return e.commit();
}

}  // namespace pliant::schedule
