#include "passes/rewrite/region_facts.h"

#include <algorithm>

#include "ops/op.h"

namespace pliant::passes {

Result<std::optional<Fault>> fault_of(const Function& f, const Node& n, expr::Context& ctx) {
  if (n.op == "core.const") return std::optional(Fault::Never);
  const ops::OpDef* op = ops::find_op(n.op);
  if (op == nullptr || !op->compute) return std::optional<Fault>();
  te::Builder te(ctx);
  ops::Defined d = TRY(ops::define(f, n, te));
  return std::optional(d.checks.empty() ? Fault::Never : Fault::Maybe);
}

std::unordered_set<ValueId> defined_in(const Region& r) {
  std::unordered_set<ValueId> out(r.params.begin(), r.params.end());
  for (const Node& n : r.nodes) {
    out.insert(n.outputs.begin(), n.outputs.end());
    for (const auto& inner : n.regions) out.merge(defined_in(*inner));
  }
  out.erase(kNoValue);
  return out;
}

bool uses_any(const Node& n, const std::unordered_set<ValueId>& values) {
  auto among = [&](ValueId v) { return values.count(v) != 0; };
  if (std::any_of(n.inputs.begin(), n.inputs.end(), among)) return true;
  for (const auto& r : n.regions) {
    if (std::any_of(r->results.begin(), r->results.end(), among)) return true;
    for (const Node& inner : r->nodes)
      if (uses_any(inner, values)) return true;
  }
  return false;
}

}  // namespace pliant::passes
