#include "lower/checks.h"

#include <algorithm>

#include "graph/kernel.h"

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
  if (!graph::is_kernel(node)) return node.loc;
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

CheckBody body_of(const Problem& p, const ops::DataCheck& check) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& ok = *check.ok;
  std::vector<te::Tensor> maps{check.ok};
  for (Dim v : check.values)
    maps.push_back(p.te.map("value", ok.shape, [&](const te::Index& i) {
      const expr::DimMap at = index_map(ok, i, {});
      return expr::make_index(expr::substitute(v, at));
    }));
  const Problem sub{ctx,  p.te,        p.target, p.options, p.function, p.node, p.inputs,
                    maps, p.constants, {},       p.name,    p.loc,      p.memo};
  const StageList list = make_stages(sub, Inline::All);
  PLIANT_CHECK(list.stages.size() == maps.size()) << "a data check of " << p.name << " is not a map over its inputs";
  CheckBody out{list.stages[0].body, {}};
  for (size_t k = 1; k < maps.size(); ++k) {
    const expr::DimMap at = index_map(*list.stages[k].tensor, index_of(ctx, ok), {});
    out.values.push_back(expr::value(expr::substitute(list.stages[k].body, at)));
  }
  return out;
}

std::optional<size_t> check_of(const Problem& p, const Stage& s) {
  for (size_t k = 0; k < p.checks.size(); ++k)
    if (p.checks[k].ok->id == s.tensor->id) return k;
  return std::nullopt;
}

}  // namespace pliant::lower
