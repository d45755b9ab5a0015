#include "passes/groups/node_facts.h"

#include <algorithm>

#include "graph/visit.h"
#include "ops/control/carried.h"
#include "te/cost.h"

namespace pliant::passes {

namespace {

// The stages of `n` that read input value v, with the placeholder that stands for v.
template <class F>
bool every_reader(const NodeFacts& facts, const Node& n, ValueId v, F&& holds) {
  for (size_t k = 0; k < n.inputs.size(); ++k) {
    if (n.inputs[k] != v) continue;
    const te::Tensor& in = facts.defined.inputs[k];
    for (const te::Tensor& s : facts.stages) {
      bool reads = std::any_of(s->reads.begin(), s->reads.end(), [&](const te::Tensor& r) { return r->id == in->id; });
      if (reads && !holds(*s, *in)) return false;
    }
  }
  return true;
}

}  // namespace

bool NodeFacts::reads_in_place(const Node& n, ValueId v) const {
  return every_reader(*this, n, v, [](const te::TensorDef& s, const te::TensorDef& in) {
    return s.kind == te::Kind::Map && te::reads_in_place(s, in);
  });
}

bool NodeFacts::reads_own_rows(const Node& n, ValueId v, size_t rank) const {
  return every_reader(*this, n, v,
                      [&](const te::TensorDef& s, const te::TensorDef& in) { return te::reads_own_rows(s, in, rank); });
}

std::optional<te::Permutation> NodeFacts::permutation() const {
  if (stages.size() != 1) return std::nullopt;
  return te::as_permutation(*stages[0]);
}

bool NodeFacts::moves_only() const {
  return stages.size() == 1 && stages[0]->body->kind == expr::ScalarKind::Load && !has_checks;
}

int64_t NodeFacts::operations() const {
  int64_t sum = 0;
  for (const te::Tensor& t : stages)
    for (expr::Scalar s : {t->body, t->base})
      if (s) sum += te::cost_of(s);
  return sum;
}

Result<NodeFacts> facts_of(const Function& f, const Node& n, expr::Context& ctx) {
  NodeFacts out;
  const ops::OpDef* op = ops::find_op(n.op);
  if (!op || !op->compute || n.op == "core.const" || !n.regions.empty()) return out;
  if (ops::is_whole_view(n)) {
    out.kind = GroupKind::View;
    return out;
  }
  te::Builder builder(ctx);
  out.defined = TRY(ops::define(f, n, builder));
  out.stages = te::stages_of(out.defined.outputs);
  out.has_checks = !out.defined.checks.empty();
  out.checks_in_kernel = std::all_of(out.defined.checks.begin(), out.defined.checks.end(), [](const ops::DataCheck& check) {
    const std::vector<te::Tensor> all = te::stages_of({check.ok});
    return check.values.empty() && !check.ok->shape.empty() &&
           std::all_of(all.begin(), all.end(), [](const te::Tensor& t) { return t->kind == te::Kind::Map; });
  });
  bool maps = true, rows = true, any_reduce = false, any_other = false;
  int contractions = 0;
  for (const te::Tensor& t : out.stages) {
    maps = maps && t->kind == te::Kind::Map;
    if (t->kind == te::Kind::Scan || t->kind == te::Kind::Scatter) any_other = true;
    if (t->kind != te::Kind::Reduce) continue;
    any_reduce = true;
    if (te::is_contraction(*t)) ++contractions;
    if (!te::reduces_rows(*t)) rows = false;
    out.row_rank = std::max(out.row_rank, te::trimmed_rank(t->shape));
  }
  for (const te::Tensor& t : out.stages)
    if (any_reduce && t->kind == te::Kind::Reduce && te::trimmed_rank(t->shape) != out.row_rank) rows = false;
  if (any_other || out.stages.empty()) return out;
  if (maps)
    out.kind = GroupKind::Map;
  else if (contractions == 1)
    out.kind = GroupKind::Contraction;
  else if (contractions == 0 && rows)
    out.kind = GroupKind::Rows;
  else if (contractions == 0)
    out.kind = GroupKind::Window;
  return out;
}

void collect_reads(const Node& n, std::vector<ValueId>& out) {
  auto add = [&](const std::vector<ValueId>& values) {
    for (ValueId v : values)
      if (v != kNoValue) out.push_back(v);
  };
  add(n.inputs);
  for (const auto& r : n.regions) {
    for (const Node& inner : r->nodes) collect_reads(inner, out);
    add(r->results);
  }
}

namespace {

void add_sources(const Function& f, const std::vector<Node>& nodes, const expr::Context& ctx, SymbolSources& out) {
  auto define = [&](Dim d, const Node* by) {
    for (expr::SymbolId s : expr::symbols_of(d))
      if (ctx.info(s).origin.kind == expr::Origin::Kind::Data) out.emplace(s, by);
  };
  for (const Node& n : nodes) {
    if (n.op == "core.read_dims")
      for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, [&](Dim d) { define(d, &n); });
    for (const auto& region : n.regions) {
      for (ValueId v : region->params) graph::for_each_dim(f.value(v).type, [&](Dim d) { define(d, nullptr); });
      add_sources(f, region->nodes, ctx, out);
    }
    if (n.op == "core.loop") define(graph::loop_parts(n).count, &n);
    for (ValueId v : n.outputs)
      if (v != kNoValue) graph::for_each_dim(f.value(v).type, [&](Dim d) { define(d, &n); });
  }
}

}  // namespace

SymbolSources symbol_sources(const Function& f, const expr::Context& ctx) {
  SymbolSources out;
  for (ValueId v : f.params) {
    graph::for_each_dim(f.value(v).type, [&](Dim d) {
      for (expr::SymbolId s : expr::symbols_of(d)) out.emplace(s, nullptr);
    });
  }
  add_sources(f, f.nodes, ctx, out);
  return out;
}

void collect_sources(const Function& f, const Node& n, const SymbolSources& sources, std::vector<const Node*>& out) {
  auto use = [&](Dim d) {
    for (expr::SymbolId s : expr::symbols_of(d)) {
      auto at = sources.find(s);
      if (at != sources.end() && at->second != nullptr && at->second != &n) out.push_back(at->second);
    }
  };
  for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, use);
  for (ValueId v : n.outputs)
    if (v != kNoValue) graph::for_each_dim(f.value(v).type, use);
  for (const auto& region : n.regions) {
    for (ValueId v : region->params) graph::for_each_dim(f.value(v).type, use);
    for (const Node& inner : region->nodes) collect_sources(f, inner, sources, out);
  }
}

}  // namespace pliant::passes
