#include "te/cost.h"

#include <unordered_set>

namespace pliant::te {

void for_each_scalar(Scalar s, const std::function<void(Scalar)>& visit) {
  std::unordered_set<const expr::ScalarNode*> seen;
  std::vector<Scalar> todo{s};
  while (!todo.empty()) {
    Scalar t = todo.back();
    todo.pop_back();
    if (!seen.insert(t.node()).second) continue;
    visit(t);
    for (Scalar a : t->args) todo.push_back(a);
  }
}

namespace {
// A function of many instructions by itself, its operands not counted.
bool is_costly_node(Scalar s) {
  using expr::BinaryOp;
  using expr::UnaryOp;
  if (s->kind == expr::ScalarKind::Binary) {
    BinaryOp b = s->binary();
    return b == BinaryOp::Pow || b == BinaryOp::Div || b == BinaryOp::Mod || b == BinaryOp::Rem || b == BinaryOp::Atan2;
  }
  if (s->kind != expr::ScalarKind::Unary) return false;
  switch (s->unary()) {
    case UnaryOp::Neg:
    case UnaryOp::Abs:
    case UnaryOp::Not:
    case UnaryOp::BitNot:
    case UnaryOp::Sign:
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round:
    case UnaryOp::Trunc:
    case UnaryOp::IsNan:
    case UnaryOp::IsInf: return false;
    default: return true;
  }
}
}  // namespace

int64_t cost_of(Scalar s) {
  int64_t cost = 0;
  for_each_scalar(s, [&](Scalar t) { cost += is_costly_node(t) ? 12 : 1; });
  return cost;
}

bool is_costly(Scalar s) {
  bool costly = false;
  for_each_scalar(s, [&](Scalar t) { costly = costly || is_costly_node(t); });
  return costly;
}

}  // namespace pliant::te
