#include "passes/rewrite/liveness.h"

#include <unordered_map>

#include "graph/visit.h"

namespace pliant::passes {
namespace {

bool has_slots(const Node& n) { return n.op == "core.if" || n.op == "core.loop"; }

// What defines each value and each symbol. An output of a core.if with what the branches yield for it, and a carried or scan
// value of a core.loop with all that belongs to it, are a slot, numbered as the outputs are.
class Definitions {
 public:
  struct Slot {
    const Node* node = nullptr;
    size_t number = 0;
  };
  struct SymbolSource {
    const Node* node = nullptr;  // null for the function's params
    ValueId value = kNoValue;    // of a slot
  };
  Definitions(const Function& f, const expr::Context& ctx) : f_(f), ctx_(ctx) {
    for (ValueId v : f.params) define_symbols(f.values[v].type, {});
    add(f.nodes);
  }
  const Node* value(ValueId v) const {
    auto it = values_.find(v);
    return it == values_.end() ? nullptr : it->second;
  }
  const Slot* slot(ValueId v) const {
    auto it = slots_.find(v);
    return it == slots_.end() ? nullptr : &it->second;
  }
  SymbolSource symbol(expr::SymbolId s) const {
    auto it = symbols_.find(s);
    return it == symbols_.end() ? SymbolSource{} : it->second;
  }

 private:
  // Elements of inputs and numbers of iterations are known without any node.
  void define_symbols(Dim d, SymbolSource by) {
    for (expr::SymbolId s : expr::symbols_of(d)) {
      auto kind = ctx_.info(s).origin.kind;
      if (kind != expr::Origin::Kind::InputValue && kind != expr::Origin::Kind::LoopIndex) symbols_.emplace(s, by);
    }
  }
  void define_symbols(const Type& t, SymbolSource by) {
    graph::for_each_dim(t, [&](Dim d) { define_symbols(d, by); });
  }
  void add(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      if (n.op == "core.read_dims") {
        for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, [&](Dim d) { define_symbols(d, {&n}); });
      }
      for (const auto& region : n.regions) {
        for (size_t k = 0; k < region->params.size(); ++k) {
          ValueId v = region->params[k];
          if (n.op == "core.loop") slots_[v] = {&n, k};
          define_symbols(f_.values[v].type, {&n, n.op == "core.loop" ? v : kNoValue});
        }
        add(region->nodes);
      }
      if (n.op == "core.loop") define_symbols(graph::loop_parts(n).count, {&n});
      for (size_t k = 0; k < n.outputs.size(); ++k) {
        ValueId v = n.outputs[k];
        values_.emplace(v, &n);
        if (has_slots(n)) slots_[v] = {&n, k};
        define_symbols(f_.values[v].type, {&n, has_slots(n) ? v : kNoValue});
      }
    }
  }

  const Function& f_;
  const expr::Context& ctx_;
  std::unordered_map<ValueId, const Node*> values_;
  std::unordered_map<ValueId, Slot> slots_;
  std::unordered_map<expr::SymbolId, SymbolSource> symbols_;
};

class Marker {
 public:
  Marker(const Function& f, expr::Context& ctx) : f_(f), ctx_(ctx), definitions_(f, ctx) {}

  Live run() {
    for (ValueId v : f_.results) mark_value(v);
    mark_effects(f_.nodes);
    for (const ShapeConstraint& o : f_.constraints) {
      mark_dim(o.a);
      mark_dim(o.b);
    }
    while (!todo_.empty()) {
      const Node* n = todo_.back();
      todo_.pop_back();
      mark_parts(*n);
    }
    return std::move(live_);
  }

 private:
  void mark(const Node* n) {
    if (n != nullptr && live_.nodes.insert(n).second) todo_.push_back(n);
  }
  void mark_value(ValueId v) {
    if (v == kNoValue || !seen_values_.insert(v).second) return;
    mark(definitions_.value(v));
    mark_type(v);
    if (const auto* slot = definitions_.slot(v)) mark_slot(*slot->node, slot->number);
  }
  void mark_type(ValueId v) {
    graph::for_each_dim(f_.values[v].type, [&](Dim d) { mark_dim(d); });
  }
  void mark_dim(Dim d) {
    for (expr::SymbolId s : expr::symbols_of(d)) {
      if (!seen_symbols_.insert(s).second) continue;
      auto source = definitions_.symbol(s);
      mark_value(source.value);
      mark(source.node);
      // A bound is used to plan memory.
      if (ctx_.info(s).upper) mark_dim(*ctx_.info(s).upper);
    }
  }
  // What stands in slot k of a structured node, all of it.
  void mark_slot(const Node& n, size_t k) {
    if (!live_.slots[&n].insert(k).second) return;
    mark(&n);
    mark_value(n.outputs[k]);
    size_t results_before = 0;
    if (n.op == "core.loop") {
      LoopParts loop = graph::loop_parts(n);
      results_before = 1;
      if (k < loop.carried) {
        mark_value(loop.init(n, k));
        mark_value(loop.body->params[k]);
      }
    }
    for (const auto& region : n.regions)
      if (!region->results.empty()) mark_value(region->results[results_before + k]);
  }
  // What a list of nodes does beside giving values: requirements, and its end in a failure.
  void mark_effects(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      bool fails = n.op == "core.if" && graph::diverges(*n.regions[0]) && graph::diverges(*n.regions[1]);
      if (n.op == "core.require" || n.op == "core.fail" || fails) mark(&n);
    }
  }
  void mark_parts(const Node& n) {
    for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, [&](Dim d) { mark_dim(d); });
    for (const auto& region : n.regions) mark_effects(region->nodes);
    if (has_slots(n)) {
      if (!n.inputs.empty()) mark_value(n.inputs[0]);
      if (n.op == "core.loop" && !n.regions[0]->results.empty()) mark_value(n.regions[0]->results[0]);
      return;
    }
    for (ValueId v : n.inputs) mark_value(v);
    for (ValueId v : n.outputs) mark_type(v);
    for (const auto& region : n.regions) {
      for (ValueId v : region->params) mark_type(v);
      for (ValueId v : region->results) mark_value(v);
    }
  }

  const Function& f_;
  expr::Context& ctx_;
  Definitions definitions_;
  Live live_;
  std::unordered_set<ValueId> seen_values_;
  std::unordered_set<expr::SymbolId> seen_symbols_;
  std::vector<const Node*> todo_;
};

// The entries of `all` from `first` on whose number, counted from there, is in `slots`, behind those before `first`.
std::vector<ValueId> live_entries(const std::vector<ValueId>& all, size_t first, const std::unordered_set<size_t>& slots) {
  std::vector<ValueId> out;
  for (size_t k = 0; k < all.size(); ++k)
    if (k < first || slots.count(k - first)) out.push_back(all[k]);
  return out;
}

void append_live(FunctionBuilder& b, const std::vector<Node>& nodes, const Live& live) {
  static const std::unordered_set<size_t> kNone;
  for (const Node& n : nodes) {
    if (!live.nodes.count(&n)) continue;
    Node copy = n;
    auto found = live.slots.find(&n);
    const auto& slots = found == live.slots.end() ? kNone : found->second;
    size_t before = n.op == "core.loop" ? 1 : 0;
    for (auto& region : copy.regions) {
      b.begin_region(before == 1 ? live_entries(region->params, 0, slots) : region->params);
      append_live(b, region->nodes, live);
      region = b.end_region(has_slots(n) ? live_entries(region->results, before, slots) : region->results);
    }
    if (has_slots(n)) {
      copy.outputs = live_entries(copy.outputs, 0, slots);
      if (before == 1) copy.inputs = live_entries(copy.inputs, 1, slots);
    }
    b.append(std::move(copy));
  }
}

}  // namespace

Live find_live(const Function& f, expr::Context& ctx) { return Marker(f, ctx).run(); }

FunctionPtr without_dead_nodes(const FunctionPtr& f, expr::Context& ctx) {
  Live live = find_live(*f, ctx);
  bool all = true;
  graph::for_each_node(*f, [&](const Node& n) {
    all = all && live.nodes.count(&n) && (!has_slots(n) || n.outputs.empty() || live.slots[&n].size() == n.outputs.size());
  });
  if (all) return f;
  auto b = graph::FunctionBuilder::rewriting(*f);
  append_live(b, f->nodes, live);
  return b.finish();
}

}  // namespace pliant::passes
