#include "codegen/legalize/legalize.h"

#include "codegen/codegen.h"
#include "expr/scalar/with_args.h"
#include "loop/walk.h"

namespace pliant::codegen {

using expr::Scalar;
using expr::ScalarKind;

namespace {

class Legalizer {
 public:
  Scalar run(Scalar s) {
    if (auto it = done_.find(s.node()); it != done_.end()) return it->second;
    Scalar out = with_legal_args(s);
    for (auto* rule : {&rules::rewrite_cast, &rules::rewrite_half, &rules::rewrite_exponential, &rules::rewrite_logarithm,
                       &rules::rewrite_trigonometric, &rules::rewrite_arc, &rules::rewrite_erf, &rules::rewrite_power,
                       &rules::rewrite_remainder}) {
      if (Scalar next = (*rule)(out)) {
        out = run(next);
        break;
      }
    }
    done_[s.node()] = out;
    return out;
  }

 private:
  Scalar with_legal_args(Scalar s) {
    std::vector<Scalar> args;
    for (Scalar a : s->args) args.push_back(run(a));
    return args == s->args ? s : expr::with_args(s, args);
  }

  std::unordered_map<const expr::ScalarNode*, Scalar> done_;
};

}  // namespace

Scalar legalize_scalar(Scalar s) { return Legalizer().run(s); }

loop::Function legalize(const loop::Function& f) {
  Legalizer legalizer;
  // An instruction computes what it does as it is.
  auto visit = [&](auto&& self, const loop::StmtPtr& s) -> loop::StmtPtr {
    if (s->kind == loop::StmtKind::For && s->for_kind == loop::ForKind::Tensor) return s;
    std::vector<loop::StmtPtr> body;
    for (const loop::StmtPtr& child : s->body) body.push_back(self(self, child));
    const loop::StmtPtr now = loop::with_body(s, std::move(body));
    if (!now->value) return now;
    const Scalar legal = legalizer.run(now->value);
    if (legal == now->value) return now;
    return loop::changed(now, [&](loop::Stmt& c) { c.value = legal; });
  };
  loop::Function out = f;
  out.body = visit(visit, f.body);
  return out;
}

}  // namespace pliant::codegen
