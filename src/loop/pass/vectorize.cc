#include <set>

#include "loop/pass/pass.h"
#include "loop/walk.h"

namespace pliant::loop {
namespace {

// Why the lanes of a loop would not run the same statements; empty where they do.
std::string obstacle(const Stmt& loop, const expr::Context& ctx) {
  std::string reason;
  std::set<BufferId> written;
  for_each(loop.body[0], [&](const Stmt& s) {
    if (s.kind == StmtKind::Store) written.insert(s.buffer);
    if (s.kind == StmtKind::Alloc) written.insert(s.alloc->id);
    if (s.kind == StmtKind::While) reason = "a while is inside";
    if (s.kind == StmtKind::Let) reason = "the binding of " + ctx.info(s.var).name + " is inside";
    if (s.kind == StmtKind::Alloc && s.alloc->scope != Scope::Local)
      reason = "%" + s.alloc->name + ", which is not local, is allocated inside";
  });
  for_each(loop.body[0], [&](const Stmt& s) {
    if (s.kind != StmtKind::For) return;
    const std::string inner = "the extent of " + ctx.info(s.var).name + ", which is inside, ";
    if (expr::uses_symbol(s.extent, loop.var)) reason = inner + "differs between lanes";
    for (const Scalar& load : expr::loads_of(expr::make_index(s.extent)))
      if (written.count(load->tensor)) reason = inner + "reads memory that is written there";
  });
  return reason;
}

class Vectorizer {
 public:
  Vectorizer(const Function& f, expr::Context& ctx, const PassOptions& options) : f_(f), ctx_(ctx), options_(options) {}

  StmtPtr run(const StmtPtr& s, bool in_lanes) {
    if (s->kind == StmtKind::For && s->for_kind == ForKind::Vector) return vector_loop(s, in_lanes);
    if (s->kind == StmtKind::For && s->for_kind == ForKind::Tensor)
      return options_.most_lanes < 2 ? serial(*s, in_lanes) : s;
    std::vector<StmtPtr> body;
    body.reserve(s->body.size());
    for (const StmtPtr& child : s->body) body.push_back(run(child, in_lanes));
    return with_body(s, std::move(body));
  }

 private:
  StmtPtr vector_loop(const StmtPtr& s, bool in_lanes) {
    const int64_t n = s->extent.const_value();
    if (options_.most_lanes < 2 || n < 2) return serial(*s, in_lanes);
    const std::string reason = in_lanes ? "it is inside another vector loop" : obstacle(*s, ctx_);
    if (!reason.empty()) {
      if (options_.remark)
        options_.remark(place_of(f_) + ": the vector loop " + ctx_.info(s->var).name +
                        " runs one lane at a time: " + reason);
      return serial(*s, in_lanes);
    }
    const StmtPtr body = run(s->body[0], true);
    std::vector<StmtPtr> pieces;
    for (int64_t first = 0; first < n;) {
      int64_t lanes = options_.most_lanes;
      while (lanes > n - first) lanes /= 2;
      pieces.push_back(lanes == n ? with_body(s, {body}) : piece(*s, body, first, lanes));
      first += lanes;
    }
    return make_block(std::move(pieces));
  }

  StmtPtr serial(const Stmt& s, bool in_lanes) {
    return make_for(s.var, s.extent, ForKind::Serial, run(s.body[0], in_lanes));
  }

  StmtPtr piece(const Stmt& loop, const StmtPtr& body, int64_t first, int64_t lanes) {
    if (lanes == 1) return substitute(body, {{loop.var, ctx_.constant(first)}});
    const Dim lane = ctx_.index_symbol(ctx_.info(loop.var).name, ctx_.constant(lanes));
    return make_for(*lane.as_symbol(), ctx_.constant(lanes), ForKind::Vector, substitute(body, {{loop.var, lane + first}}));
  }

  const Function& f_;
  expr::Context& ctx_;
  const PassOptions& options_;
};

}  // namespace

Function vectorize(const Function& f, expr::Context& ctx, const PassOptions& options) {
  Function out = f;
  out.body = Vectorizer(f, ctx, options).run(f.body, false);
  return out;
}

}  // namespace pliant::loop
