#include "passes/rewrite/rewriter.h"

#include <algorithm>

#include "graph/visit.h"
#include "ops/op.h"

namespace pliant::passes {

Rewriter::Rewriter(const FunctionPtr& f, expr::Context& ctx, std::string op)
    : f_(f),
      ctx_(ctx),
      op_(std::move(op)),
      builder_(graph::FunctionBuilder::rewriting(*f)),
      uses_(f->values.size(), 0),
      is_result_(f->values.size(), false) {
  auto count = [&](const std::vector<ValueId>& values) {
    for (ValueId v : values) {
      if (v != kNoValue) ++uses_[v];
    }
  };
  graph::for_each_node(*f, [&](const Node& n) {
    count(n.inputs);
    for (const auto& region : n.regions) count(region->results);
  });
  count(f->results);
  for (ValueId v : f->results) is_result_[v] = true;
  for (ValueId v : f->params) learn(f->values[v].type);
}

void Rewriter::learn(expr::SymbolId s) {
  if (known_.insert(s).second) learned_.push_back(s);
}

void Rewriter::learn(Dim d) {
  for (expr::SymbolId s : expr::symbols_of(d)) learn(s);
}

void Rewriter::learn(const Type& t) {
  graph::for_each_dim(t, [&](Dim d) { learn(d); });
}

void Rewriter::learn(const Node& n) {
  for (ValueId v : n.outputs)
    if (v != kNoValue) learn(type(v));
  if (n.op == "core.read_dims")
    for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, [&](Dim d) { learn(d); });
  if (n.op == "core.loop") learn(graph::loop_parts(n).count);
}

const Node* Rewriter::def(ValueId v) const {
  auto it = defs_.find(v);
  return it == defs_.end() ? nullptr : it->second;
}

bool Rewriter::is_local(ValueId v) const {
  auto it = depths_.find(v);
  return it != depths_.end() && it->second == builder_.open_regions();
}

ConstantPtr Rewriter::constant(ValueId v) const {
  if (v == kNoValue) return nullptr;
  const Node* n = def(v);
  return n != nullptr && n->op == "core.const" ? n->attrs.constant("value") : nullptr;
}

uint32_t Rewriter::uses(ValueId v) const { return v < uses_.size() ? uses_[v] : 0; }

bool Rewriter::is_result(ValueId v) const { return v < is_result_.size() && is_result_[v]; }

bool Rewriter::is_counted(const LoopParts& loop) const {
  if (!loop.trip || loop.condition != kNoValue || graph::diverges(*loop.body)) return false;
  const ConstantPtr c = constant(loop.next_condition());
  return c != nullptr && c->dtype == DType::Bool && element_count(*c) == 1 && *c->data != std::byte{0};
}

bool Rewriter::is_known(expr::SymbolId s) const {
  return known_.count(s) != 0 || ctx_.info(s).origin.kind == expr::Origin::Kind::InputValue;
}

bool Rewriter::is_known(Dim d) const {
  const std::vector<expr::SymbolId> symbols = expr::symbols_of(d);
  return std::all_of(symbols.begin(), symbols.end(), [&](expr::SymbolId s) { return is_known(s); });
}

bool Rewriter::has_known_dims(const Node& n) const {
  bool known = true;
  auto look = [&](Dim d) { known = known && is_known(d); };
  for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, look);
  for (ValueId v : n.outputs)
    if (v != kNoValue) graph::for_each_dim(type(v), look);
  for (const auto& r : n.regions) {
    for (ValueId v : r->params) graph::for_each_dim(type(v), look);
    for (const Node& inner : r->nodes) known = known && has_known_dims(inner);
  }
  return known;
}

ValueId Rewriter::renamed(ValueId v) const {
  for (auto it = renames_.find(v); it != renames_.end(); it = renames_.find(v)) v = it->second;
  return v;
}

void Rewriter::index_new_nodes(size_t from) {
  const std::vector<Node>& nodes = builder_.current_nodes();
  for (size_t i = from; i < nodes.size(); ++i) {
    const Node& n = kept_.emplace_back(nodes[i]);
    learn(n);
    for (ValueId v : n.outputs) {
      defs_[v] = &n;
      depths_[v] = builder_.open_regions();
    }
  }
}

Result<ValueId> Rewriter::make(const std::string& op, Attrs attrs, std::vector<ValueId> inputs, const LocPtr& loc) {
  return TRY(make_multi(op, std::move(attrs), std::move(inputs), 1, loc))[0];
}

Result<std::vector<ValueId>> Rewriter::make_multi(const std::string& op, Attrs attrs, std::vector<ValueId> inputs,
                                                  size_t outputs, const LocPtr& loc) {
  for (ValueId v : inputs) {
    if (v == kNoValue) continue;
    if (uses_.size() <= v) uses_.resize(v + 1, 0);
    ++uses_[v];
  }
  size_t before = builder_.current_nodes().size();
  auto values = TRY(ops::append_node(builder_, ctx_, op, std::move(attrs), std::move(inputs), outputs, loc));
  index_new_nodes(before);
  return values;
}

ValueId Rewriter::make_const(ConstantPtr c, const LocPtr& loc) {
  size_t before = builder_.current_nodes().size();
  const ValueId v = builder_.append_const(std::move(c), loc);
  index_new_nodes(before);
  return v;
}

Result<ValueId> Rewriter::make_zeros(DType dtype, Shape shape, const LocPtr& loc) {
  const int64_t zero = 0;
  const ValueId scalar = make_const(graph::make_constant(dtype, {}, &zero, static_cast<size_t>(byte_size(dtype))), loc);
  return make("array.full", {{"shape", std::move(shape)}}, {scalar}, loc);
}

bool Rewriter::can_replace(ValueId old, ValueId by) const {
  if (!(type(old) == type(by))) return false;
  if (!is_result(old)) return true;
  // A result that is a param, a constant or another result would have to be copied after all.
  const Node* n = def(by);
  return n != nullptr && n->op != "core.const" && !is_result(by);
}

void Rewriter::replace(ValueId old, ValueId by) {
  PLIANT_CHECK(type(old) == type(by)) << "value of type " << print(type(old)) << " replaced by one of " << print(type(by));
  size_t size = static_cast<size_t>(std::max(old, by)) + 1;
  if (uses_.size() < size) uses_.resize(size, 0);
  if (is_result_.size() < size) is_result_.resize(size, false);
  uses_[by] += uses_[old];
  if (is_result_[old]) is_result_[by] = true;
  rename(old, by);
  changed_ = true;
}

Status Rewriter::put(ValueId old, ValueId by, const LocPtr& loc) {
  if (!(type(old) == type(by)))
    by = TRY(make("array.reshape", {{"shape", shape(old)}}, {by}, loc));
  else if (!can_replace(old, by))
    by = TRY(make("math.identity", {}, {by}, loc));
  replace(old, by);
  return ok();
}

void Rewriter::rename(ValueId old, ValueId by) {
  const std::string name = builder_.peek().values[old].name;
  if (!name.empty() && builder_.peek().values[by].name.empty()) builder_.set_name(by, name);
  renames_[old] = by;
}

void Rewriter::append(Node n) {
  const size_t before = builder_.current_nodes().size();
  builder_.append(std::move(n));
  index_new_nodes(before);
}

Status Rewriter::with_new_regions(Node& n, const Visit& visit) {
  for (auto& region : n.regions) {
    const size_t outside = learned_.size();
    builder_.begin_region(region->params);
    for (ValueId v : region->params) learn(type(v));
    if (n.op == "core.loop") learn(*graph::loop_parts(n).index.as_symbol());
    TRY(walk(region->nodes, visit));
    std::vector<ValueId> results;
    for (ValueId v : region->results) results.push_back(renamed(v));
    region = builder_.end_region(std::move(results));
    for (; learned_.size() > outside; learned_.pop_back()) known_.erase(learned_.back());
  }
  return ok();
}

Status Rewriter::walk(const std::vector<Node>& nodes, const Visit& visit) {
  for (const Node& original : nodes) {
    Node n = original;
    for (ValueId& v : n.inputs) {
      if (v != kNoValue) v = renamed(v);
    }
    TRY(with_new_regions(n, visit));
    const size_t before = builder_.current_nodes().size();
    Action action = Action::Keep;
    if (op_.empty() || n.op == op_) action = TRY(visit(n));
    changed_ = changed_ || action != Action::Keep;
    if (action != Action::Drop) builder_.append(std::move(n));
    index_new_nodes(before);
  }
  return ok();
}

Result<FunctionPtr> Rewriter::run(const Visit& visit) {
  TRY(walk(f_->nodes, visit));
  if (!changed_) return f_;
  std::vector<ValueId> results;
  for (ValueId v : f_->results) results.push_back(renamed(v));
  builder_.set_results(std::move(results), f_->result_names);
  return builder_.finish();
}

}  // namespace pliant::passes
