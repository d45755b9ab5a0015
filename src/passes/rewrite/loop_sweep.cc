#include "passes/rewrite/loop_sweep.h"

#include <algorithm>

#include "graph/visit.h"
#include "ops/op.h"

namespace pliant::passes {

using graph::Dim;
using graph::Node;
using graph::Region;
using graph::ValueId;

LoopSweep::LoopSweep(const graph::FunctionPtr& f, expr::Context& ctx, std::string op)
    : f_(f), ctx_(ctx), op_(std::move(op)), builder_(graph::FunctionBuilder::rewriting(*f)) {
  for (ValueId v : f->params) learn(f->values[v].type);
}

void LoopSweep::learn(const graph::Type& t) {
  graph::for_each_dim(t, [&](Dim d) {
    for (expr::SymbolId s : expr::symbols_of(d)) known_.insert(s);
  });
}

void LoopSweep::learn(const Node& n) {
  for (ValueId v : n.outputs)
    if (v != graph::kNoValue) learn(builder_.peek().values[v].type);
  if (n.op == "core.read_dims") {
    for (const auto& [name, value] : n.attrs.all())
      graph::for_each_dim(value, [&](Dim d) {
        for (expr::SymbolId s : expr::symbols_of(d)) known_.insert(s);
      });
  }
  if (n.op == "core.loop")
    for (expr::SymbolId s : expr::symbols_of(graph::loop_parts(n).count)) known_.insert(s);
  if (n.op == "core.const") {
    constants_.insert(n.outputs[0]);
    graph::ConstantPtr c = n.attrs.constant("value");
    if (c->dtype == DType::Bool && element_count(*c) == 1 && *c->data != std::byte{0}) true_constants_.insert(n.outputs[0]);
  }
}

bool LoopSweep::is_counted(const graph::LoopParts& loop) const {
  return loop.trip && loop.condition == graph::kNoValue && !graph::diverges(*loop.body) &&
         true_constants_.count(loop.next_condition()) != 0;
}

bool LoopSweep::is_known(expr::SymbolId s) const {
  return known_.count(s) != 0 || ctx_.info(s).origin.kind == expr::Origin::Kind::InputValue;
}

bool LoopSweep::is_known(Dim d) const {
  std::vector<expr::SymbolId> symbols = expr::symbols_of(d);
  return std::all_of(symbols.begin(), symbols.end(), [&](expr::SymbolId s) { return is_known(s); });
}

bool LoopSweep::has_known_dims(const Node& n) const {
  bool known = true;
  auto look = [&](Dim d) { known = known && is_known(d); };
  for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, look);
  for (ValueId v : n.outputs)
    if (v != graph::kNoValue) graph::for_each_dim(type(v), look);
  for (const auto& r : n.regions) {
    for (ValueId v : r->params) graph::for_each_dim(type(v), look);
    for (const Node& inner : r->nodes) known = known && has_known_dims(inner);
  }
  return known;
}

ValueId LoopSweep::renamed(ValueId v) const {
  for (auto it = renames_.find(v); it != renames_.end(); it = renames_.find(v)) v = it->second;
  return v;
}

void LoopSweep::append(Node n) {
  learn(n);
  builder_.append(std::move(n));
}

Status LoopSweep::with_new_regions(Node& n, const Visit& visit) {
  for (auto& region : n.regions) {
    std::unordered_set<expr::SymbolId> outside = known_;
    builder_.begin_region(region->params);
    for (ValueId v : region->params) learn(builder_.peek().values[v].type);
    if (n.op == "core.loop") known_.insert(*graph::loop_parts(n).index.as_symbol());
    TRY(walk(region->nodes, visit));
    std::vector<ValueId> results;
    for (ValueId v : region->results) results.push_back(renamed(v));
    region = builder_.end_region(std::move(results));
    known_ = std::move(outside);
  }
  return ok();
}

Status LoopSweep::walk(const std::vector<Node>& nodes, const Visit& visit) {
  for (const Node& original : nodes) {
    Node n = original;
    for (ValueId& v : n.inputs)
      if (v != graph::kNoValue) v = renamed(v);
    TRY(with_new_regions(n, visit));
    Action action = Action::Keep;
    if (op_.empty() || n.op == op_) action = TRY(visit(n));
    changed_ = changed_ || action != Action::Keep;
    if (action == Action::Drop) continue;
    append(std::move(n));
  }
  return ok();
}

Result<graph::FunctionPtr> LoopSweep::run(const Visit& visit) {
  TRY(walk(f_->nodes, visit));
  if (!changed_) return f_;
  std::vector<ValueId> results;
  for (ValueId v : f_->results) results.push_back(renamed(v));
  builder_.set_results(std::move(results), f_->result_names);
  return builder_.finish();
}

Result<std::optional<Fault>> fault_of(const graph::Function& f, const Node& n, expr::Context& ctx) {
  if (n.op == "core.const") return std::optional(Fault::Never);
  const ops::OpDef* op = ops::find_op(n.op);
  if (op == nullptr || !op->compute || n.op == "nn.random") return std::optional<Fault>();
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
  out.erase(graph::kNoValue);
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
