#include "lower/checks.h"

#include <algorithm>

namespace pliant::lower {

namespace {

bool are_maps(const std::vector<te::Tensor>& tensors) {
  const std::vector<te::Tensor> all = te::stages_of(tensors);
  return std::all_of(all.begin(), all.end(), [](const te::Tensor& t) { return t->kind == te::Kind::Map; });
}

}  // namespace

bool is_map(const ops::DataCheck& check) { return check.values.empty() && !check.ok->shape.empty() && are_maps({check.ok}); }

bool checks_are_stages(const ops::Defined& d) {
  return are_maps(d.outputs) && std::all_of(d.checks.begin(), d.checks.end(), is_map);
}

LocPtr location_of_check(const graph::Function& f, const graph::Node& node, size_t k, expr::Context& ctx) {
  if (node.op != "core.fused") return node.loc;
  for (const graph::Node& n : node.regions[0]->nodes) {
    te::Builder builder(ctx);
    const Result<ops::Defined> d = ops::define(f, n, builder);
    PLIANT_CHECK(d.ok()) << "a node of a fused group cannot be defined by itself";
    if (k < d.value().checks.size()) return n.loc;
    k -= d.value().checks.size();
  }
  PLIANT_CHECK(false) << "no node of the group asks for check " << k;
  return node.loc;
}

std::optional<size_t> check_of(const Problem& p, const Stage& s) {
  for (size_t k = 0; k < p.checks.size(); ++k)
    if (p.checks[k].ok->id == s.tensor->id) return k;
  return std::nullopt;
}

}  // namespace pliant::lower
