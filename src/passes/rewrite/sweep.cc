#include "passes/rewrite/sweep.h"

#include <algorithm>

#include "ops/op.h"

namespace pliant::passes {

using graph::Node;
using graph::ValueId;

Sweep::Sweep(const graph::FunctionPtr& f, expr::Context& ctx)
    : f_(f),
      ctx_(ctx),
      builder_(graph::FunctionBuilder::rewriting(*f)),
      uses_(f->values.size(), 0),
      is_result_(f->values.size(), false) {
  auto count = [&](const std::vector<ValueId>& values) {
    for (ValueId v : values) {
      if (v != graph::kNoValue) ++uses_[v];
    }
  };
  graph::for_each_node(*f, [&](const Node& n) {
    count(n.inputs);
    for (const auto& region : n.regions) count(region->results);
  });
  count(f->results);
  for (ValueId v : f->results) is_result_[v] = true;
}

const Node* Sweep::def(ValueId v) const {
  auto it = defs_.find(v);
  return it == defs_.end() ? nullptr : it->second;
}

bool Sweep::is_local(ValueId v) const {
  auto it = depths_.find(v);
  return it != depths_.end() && it->second == builder_.open_regions();
}

graph::ConstantPtr Sweep::constant(ValueId v) const {
  if (v == graph::kNoValue) return nullptr;
  const Node* n = def(v);
  return n != nullptr && n->op == "core.const" ? n->attrs.constant("value") : nullptr;
}

uint32_t Sweep::uses(ValueId v) const { return v < uses_.size() ? uses_[v] : 0; }

bool Sweep::is_result(ValueId v) const { return v < is_result_.size() && is_result_[v]; }

ValueId Sweep::renamed(ValueId v) const {
  auto it = renames_.find(v);
  return it == renames_.end() ? v : it->second;
}

void Sweep::index_new_nodes(size_t from) {
  const std::vector<Node>& nodes = builder_.current_nodes();
  for (size_t i = from; i < nodes.size(); ++i) {
    const Node& n = kept_.emplace_back(nodes[i]);
    for (ValueId v : n.outputs) {
      defs_[v] = &n;
      depths_[v] = builder_.open_regions();
    }
  }
}

Result<ValueId> Sweep::make(const std::string& op, graph::Attrs attrs, std::vector<ValueId> inputs, const LocPtr& loc) {
  return TRY(make_multi(op, std::move(attrs), std::move(inputs), 1, loc))[0];
}

Result<std::vector<ValueId>> Sweep::make_multi(const std::string& op, graph::Attrs attrs, std::vector<ValueId> inputs,
                                               size_t outputs, const LocPtr& loc) {
  for (ValueId v : inputs) {
    if (v == graph::kNoValue) continue;
    if (uses_.size() <= v) uses_.resize(v + 1, 0);
    ++uses_[v];
  }
  size_t before = builder_.current_nodes().size();
  auto values = TRY(ops::append_node(builder_, ctx_, op, std::move(attrs), std::move(inputs), outputs, loc));
  index_new_nodes(before);
  return values;
}

ValueId Sweep::make_const(graph::ConstantPtr c, const LocPtr& loc) {
  size_t before = builder_.current_nodes().size();
  graph::Shape shape;
  for (int64_t d : c->shape) shape.push_back(ctx_.constant(d));
  graph::Type type = graph::make_tensor_type(c->dtype, std::move(shape));
  ValueId v = builder_.append("core.const", {{"value", std::move(c)}}, {}, {std::move(type)}, loc)[0];
  index_new_nodes(before);
  return v;
}

bool Sweep::can_replace(ValueId old, ValueId by) const {
  if (!(type(old) == type(by))) return false;
  if (!is_result(old)) return true;
  // A result that is a param, a constant or another result would have to be copied after all.
  const Node* n = def(by);
  return n != nullptr && n->op != "core.const" && !is_result(by);
}

void Sweep::replace(ValueId old, ValueId by) {
  PLIANT_CHECK(type(old) == type(by)) << "value of type " << print(type(old)) << " replaced by one of " << print(type(by));
  size_t size = static_cast<size_t>(std::max(old, by)) + 1;
  if (uses_.size() < size) uses_.resize(size, 0);
  if (is_result_.size() < size) is_result_.resize(size, false);
  uses_[by] += uses_[old];
  if (is_result_[old]) is_result_[by] = true;
  const graph::Value& value = builder_.peek().values[old];
  if (!value.name.empty() && builder_.peek().values[by].name.empty()) builder_.set_name(by, value.name);
  renames_[old] = by;
  changed_ = true;
}

Result<Node> Sweep::with_new_regions(Node n, const Visit& visit) {
  for (auto& region : n.regions) {
    builder_.begin_region(region->params);
    TRY(walk(region->nodes, visit));
    std::vector<ValueId> results;
    for (ValueId v : region->results) results.push_back(renamed(v));
    region = builder_.end_region(std::move(results));
  }
  return n;
}

Status Sweep::walk(const std::vector<Node>& nodes, const Visit& visit) {
  for (const Node& original : nodes) {
    Node n = original;
    for (ValueId& v : n.inputs) {
      if (v != graph::kNoValue) v = renamed(v);
    }
    n = TRY(with_new_regions(std::move(n), visit));
    if (TRY(visit(n)) == Action::Drop) continue;
    size_t before = builder_.current_nodes().size();
    builder_.append(std::move(n));
    index_new_nodes(before);
  }
  return ok();
}

Result<graph::FunctionPtr> Sweep::run(const Visit& visit) {
  TRY(walk(f_->nodes, visit));
  if (!changed_) return f_;
  std::vector<ValueId> results;
  for (ValueId v : f_->results) results.push_back(renamed(v));
  builder_.set_results(std::move(results), f_->result_names);
  return builder_.finish();
}

}  // namespace pliant::passes
