#include "lower/version.h"

#include "expr/parts.h"

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
  std::vector<expr::Scalar> terms;
  for (const auto& [left, right] : when) terms.push_back(expr::less_equal(left, right));
  return expr::conjunction(terms);
}

std::string print(const Predicate& when) {
  std::string text;
  for (const auto& [left, right] : when) text += (text.empty() ? "" : " and ") + left.str() + " <= " + right.str();
  return text;
}

LoweredKernel built_by(const std::string& builder) {
  LoweredKernel k;
  k.provenance.push_back({.maker = "builder " + builder});
  return k;
}

void add_rewrite(LoweredKernel& k, const std::string& name) {
  std::string& names = k.provenance.at(0).rewrite;
  names = names.empty() ? name : name + ", " + names;
}

std::string describe(const LoweredKernel& k) {
  const artifact::Provenance& own = k.provenance.at(0);
  std::string text = "// kernel " + k.function.name + ": " + own.maker + "\n";
  if (!k.when.empty()) text += "// when: " + print(k.when) + "\n";
  if (!own.rewrite.empty()) text += "// rewrite: " + own.rewrite + "\n";
  if (!own.knobs.empty()) text += "// knobs: " + own.knobs + "\n";
  return text + k.naive + (own.trace.empty() ? "" : "// ---- trace\n" + own.trace);
}

}  // namespace pliant::lower
