#include "passes/rewrite/region_facts.h"

#include <algorithm>

#include "ops/op.h"
#include "te/analysis.h"

namespace pliant::passes {
namespace {

// The stages of a plain computation; none where the node is something else.
Result<std::vector<te::Tensor>> stages_of(const Function& f, const Node& n, te::Builder& builder) {
  const ops::OpDef* op = ops::find_op(n.op);
  if (op == nullptr || !op->compute || n.op == "core.const" || !n.regions.empty()) return std::vector<te::Tensor>();
  return te::stages_of(TRY(ops::define(f, n, builder)).outputs);
}

// Whether attributes may name axes or sizes.
bool has_axis_attrs(const Node& n) {
  const ops::OpDef* op = ops::find_op(n.op);
  return op == nullptr || std::any_of(op->attrs.begin(), op->attrs.end(), [](const ops::AttrSpec& a) {
           using Kind = ops::AttrKind;
           return a.kind == Kind::Int || a.kind == Kind::Ints || a.kind == Kind::Dim || a.kind == Kind::Dims;
         });
}

}  // namespace

Result<bool> is_elementwise(const Function& f, const Node& n, expr::Context& ctx) {
  if (has_axis_attrs(n)) return false;
  te::Builder builder(ctx);
  const std::vector<te::Tensor> stages = TRY(stages_of(f, n, builder));
  return !stages.empty() && std::all_of(stages.begin(), stages.end(), [&](const te::Tensor& t) {
    return te::is_elementwise(*t) && t->shape == stages[0]->shape;
  });
}

Result<bool> repeats_elements(const Function& f, const Node& n, expr::Context& ctx) {
  te::Builder builder(ctx);
  const std::vector<te::Tensor> stages = TRY(stages_of(f, n, builder));
  if (stages.size() != 1 || !te::is_placement(*stages[0])) return false;
  Dim read = ctx.constant(0);
  for (const te::Tensor& t : stages[0]->reads) read = read + expr::product(ctx, t->shape);
  return !ctx.proves_less_equal(expr::product(ctx, stages[0]->shape), read);
}

Result<std::optional<Trap>> trap_of(const Function& f, const Node& n, expr::Context& ctx) {
  if (n.op == "core.const") return std::optional(Trap::Never);
  const ops::OpDef* op = ops::find_op(n.op);
  if (op == nullptr || !op->compute) return std::optional<Trap>();
  te::Builder te(ctx);
  ops::Defined d = TRY(ops::define(f, n, te));
  return std::optional(d.checks.empty() ? Trap::Never : Trap::Maybe);
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

}  // namespace pliant::passes
