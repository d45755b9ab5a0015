#include "lower/version.h"

namespace pliant::lower {

void restrict_to(expr::Context& ctx, LoweredKernel& k, const Predicate& when) {
  const expr::Dim one = ctx.constant(1), zero = ctx.constant(0);
  expr::Dim holds = one;
  for (const auto& [left, right] : when) {
    if (ctx.proves_less_equal(left, right)) continue;
    k.when.push_back({left, right});
    holds = holds * min(one, max(zero, right + 1 - left));
  }
  k.tasks = holds * k.tasks;
  k.work = holds * k.work;
}

expr::Scalar condition_of(const Predicate& when) {
  expr::Scalar all;
  for (const auto& [left, right] : when) {
    const expr::Scalar term = expr::less_equal(left, right);
    all = all ? expr::logical_and(all, term) : term;
  }
  return all;
}

std::string print(const Predicate& when) {
  std::string text;
  for (const auto& [left, right] : when) text += (text.empty() ? "" : " and ") + left.str() + " <= " + right.str();
  return text;
}

}  // namespace pliant::lower
