#include "schedule/guard.h"

namespace pliant::schedule {

using expr::BinaryOp;
using expr::ScalarKind;

std::optional<Dim> slack_of(Scalar term) {
  if (term->kind != ScalarKind::Binary) return std::nullopt;
  const bool strict = term->binary() == BinaryOp::Lt;
  if ((!strict && term->binary() != BinaryOp::Le) || term->args[0]->dtype != DType::I64) return std::nullopt;
  auto side = [](Scalar s) -> std::optional<Dim> {
    if (const auto d = expr::as_index(s)) return d;
    return s->kind == ScalarKind::Const ? std::nullopt : std::optional<Dim>(expr::value(s));
  };
  const auto a = side(term->args[0]), b = side(term->args[1]);
  if (!a || !b) return std::nullopt;
  return strict ? *b - *a - 1 : *b - *a;
}

loop::StmtPtr GuardedNest::with(const std::vector<Scalar>& terms) const {
  loop::StmtPtr s = guard->body[0];
  if (const Scalar all = expr::conjunction(terms)) s = loop::make_if(all, s);
  for (size_t k = loops.size(); k-- > 0;) s = loop::make_for(loops[k]->var, loops[k]->extent, loops[k]->for_kind, s);
  return s;
}

std::optional<GuardedNest> guarded_nest(const loop::StmtPtr& outermost) {
  GuardedNest nest;
  loop::StmtPtr s = outermost;
  for (; s->kind == loop::StmtKind::For; s = s->body[0]) nest.loops.push_back(s);
  if (nest.loops.empty() || s->kind != loop::StmtKind::If || s->body.size() != 1) return std::nullopt;
  nest.guard = s;
  return nest;
}

}  // namespace pliant::schedule
