#include "expr/parts.h"
#include "loop/pass/pass.h"
#include "loop/walk.h"

namespace pliant::loop {
namespace {

using expr::BinaryOp;
using expr::ScalarKind;

class Masker {
 public:
  explicit Masker(expr::Context& ctx) : ctx_(ctx) {}

  // `masked`: not all lanes run `s`.
  StmtPtr run(const StmtPtr& s, const Stmt* lanes, bool masked) {
    if (s->kind == StmtKind::For && s->for_kind == ForKind::Vector) return with_body(s, {run(s->body[0], s.get(), false)});
    if (s->kind == StmtKind::If && lanes) return conditional(s, *lanes, masked);
    std::vector<StmtPtr> body;
    body.reserve(s->body.size());
    for (const StmtPtr& child : s->body) body.push_back(run(child, lanes, masked));
    return with_body(s, std::move(body));
  }

 private:
  StmtPtr conditional(const StmtPtr& s, const Stmt& lanes, bool masked) {
    if (s->value->kind == ScalarKind::Const && s->value->bits != 0) return run(s->body[0], &lanes, masked);
    std::vector<Scalar> uniform, varying;
    for (Scalar c : expr::conjuncts_of(s->value)) (expr::uses_symbol(c, lanes.var) ? varying : uniform).push_back(c);
    const bool has_else = s->body.size() > 1;
    Scalar all = masked || has_else || varying.empty() ? Scalar() : for_all_lanes(varying, lanes);
    if (all && all->kind == ScalarKind::Const && all->bits == 0) all = {};
    if (all) {
      StmtPtr out = run(s->body[0], &lanes, false);
      if (all->kind != ScalarKind::Const)
        out = make_if(all, out, make_if(expr::conjunction(varying), run(s->body[0], &lanes, true)));
      return uniform.empty() ? out : make_if(expr::conjunction(uniform), out);
    }
    const bool lanes_differ = masked || !varying.empty();
    std::vector<StmtPtr> body{run(s->body[0], &lanes, lanes_differ)};
    // What this pass made: the second version runs where some lane fails.
    if (has_else) body.push_back(run(s->body[1], &lanes, lanes_differ || is_rest_of(*s, lanes)));
    return with_body(s, std::move(body));
  }

  bool is_rest_of(const Stmt& s, const Stmt& lanes) {
    const Stmt& rest = *s.body[1];
    if (rest.kind != StmtKind::If || rest.body.size() > 1) return false;
    return for_all_lanes(expr::conjuncts_of(rest.value), lanes) == s.value;
  }

  // The condition under which every lane passes, where each of `conditions` compares Dims whose difference grows or falls
  // steadily with the lane: the first or the last lane decides. Null for others.
  Scalar for_all_lanes(const std::vector<Scalar>& conditions, const Stmt& lanes) {
    std::vector<Scalar> out;
    for (Scalar c : conditions) {
      if (c->kind != ScalarKind::Binary || c->args[0]->kind != ScalarKind::Index || c->args[1]->kind != ScalarKind::Index)
        return {};
      const bool below = c->binary() == BinaryOp::Lt || c->binary() == BinaryOp::Le;
      if (!below && c->binary() != BinaryOp::Gt && c->binary() != BinaryOp::Ge) return {};
      const Dim x = c->args[0]->index[0], y = c->args[1]->index[0];
      const auto step = expr::coefficient_of(x - y, lanes.var);
      if (!step || !step->is_const() || step->is_const(0)) return {};
      const bool last = (step->const_value() > 0) == below;
      const expr::DimMap at{{lanes.var, last ? lanes.extent - 1 : ctx_.constant(0)}};
      out.push_back(expr::make_binary(c->binary(), expr::make_index(expr::substitute(x, at)),
                                      expr::make_index(expr::substitute(y, at))));
    }
    return expr::conjunction(out);
  }

  expr::Context& ctx_;
};

}  // namespace

Function mask(const Function& f, expr::Context& ctx, const PassOptions& options) {
  if (options.masked_memory) return f;
  Function out = f;
  out.body = Masker(ctx).run(f.body, nullptr, false);
  return out;
}

}  // namespace pliant::loop
