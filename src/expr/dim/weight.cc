#include "expr/dim/weight.h"

#include <algorithm>

#include "expr/interner.h"

namespace pliant::expr {

namespace {

constexpr int64_t kShortSet = 4;

int64_t weight_of(Scalar s, std::unordered_map<const ScalarNode*, int64_t>& known);

int64_t weight_of(Dim d, std::unordered_map<const ScalarNode*, int64_t>& known);

int64_t compute(const Atom* atom, std::unordered_map<const ScalarNode*, int64_t>& known) {
  int64_t weight = 1;
  for (Dim arg : atom->args) weight += weight_of(arg, known);
  // A set of many is compared with each that joins it.
  const int64_t beyond = static_cast<int64_t>(atom->args.size()) - kShortSet;
  if (beyond > 0) weight += beyond * beyond;
  if (atom->scalar != nullptr) weight += weight_of(Scalar(atom->scalar), known);
  return std::min(weight, kHeaviest);
}

int64_t weight_of(const Atom* atom, Context& ctx, std::unordered_map<const ScalarNode*, int64_t>& known) {
  if (atom->kind == AtomKind::Symbol) return 1;
  {
    std::lock_guard lock(ctx.impl().memo_mutex);
    auto it = ctx.impl().weight_memo.find(atom);
    if (it != ctx.impl().weight_memo.end()) return it->second;
  }
  const int64_t weight = compute(atom, known);
  std::lock_guard lock(ctx.impl().memo_mutex);
  ctx.impl().weight_memo.emplace(atom, weight);
  return weight;
}

int64_t weight_of(Dim d, std::unordered_map<const ScalarNode*, int64_t>& known) {
  int64_t weight = 0;
  for (const auto& [monomial, coefficient] : d->terms) {
    ++weight;
    for (const auto& [atom, power] : monomial->factors)
      weight = std::min(weight + weight_of(atom, *d->ctx, known) * static_cast<int64_t>(power), kHeaviest);
  }
  return std::min(weight, kHeaviest);
}

int64_t weight_of(Scalar s, std::unordered_map<const ScalarNode*, int64_t>& known) {
  if (auto it = known.find(s.node()); it != known.end()) return it->second;
  int64_t weight = 1;
  for (Scalar a : s->args) weight += weight_of(a, known);
  for (Dim d : s->index) weight += weight_of(d, known);
  weight = std::min(weight, kHeaviest);
  known.emplace(s.node(), weight);
  return weight;
}

}  // namespace

int64_t weight_of(Dim d) {
  std::unordered_map<const ScalarNode*, int64_t> known;
  return weight_of(d, known);
}

}  // namespace pliant::expr
