#include "passes/rewrite/liveness.h"

#include <unordered_map>

#include "graph/control.h"
#include "graph/visit.h"

namespace pliant::passes {
namespace {

using graph::Dim;
using graph::Function;
using graph::Node;
using graph::Region;
using graph::ValueId;

// What defines each value and each symbol, in the order in which they become known.
class Definitions {
 public:
  explicit Definitions(const Function& f) : f_(f) {
    for (ValueId v : f.params) graph::for_each_dim(f.values[v].type, [&](Dim d) { define_symbols(d, nullptr); });
    add(f.nodes);
  }
  const Node* value(ValueId v) const { return find(values_, v); }
  const Node* symbol(expr::SymbolId s) const { return find(symbols_, s); }

 private:
  template <class K>
  static const Node* find(const std::unordered_map<K, const Node*>& map, K key) {
    auto it = map.find(key);
    return it == map.end() ? nullptr : it->second;
  }
  void define_symbols(Dim d, const Node* by) {
    for (expr::SymbolId s : expr::symbols_of(d)) symbols_.emplace(s, by);
  }
  void add(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      if (n.op == "core.read_dims") {
        for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, [&](Dim d) { define_symbols(d, &n); });
      }
      for (const auto& region : n.regions) {
        for (ValueId v : region->params) graph::for_each_dim(f_.values[v].type, [&](Dim d) { define_symbols(d, nullptr); });
        add(region->nodes);
      }
      if (n.op == "core.loop") define_symbols(graph::loop_parts(n).count, &n);
      for (ValueId v : n.outputs) {
        values_.emplace(v, &n);
        graph::for_each_dim(f_.values[v].type, [&](Dim d) { define_symbols(d, &n); });
      }
    }
  }

  const Function& f_;
  std::unordered_map<ValueId, const Node*> values_;
  std::unordered_map<expr::SymbolId, const Node*> symbols_;
};

class Marker {
 public:
  Marker(const Function& f, expr::Context& ctx) : f_(f), ctx_(ctx), definitions_(f) {}

  std::unordered_set<const Node*> run() {
    for (ValueId v : f_.results) mark_value(v);
    mark_effects(f_.nodes);
    for (const graph::Obligation& o : f_.obligations) {
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
    if (n != nullptr && live_.insert(n).second) todo_.push_back(n);
  }
  void mark_value(ValueId v) {
    if (v == graph::kNoValue) return;
    mark(definitions_.value(v));
    graph::for_each_dim(f_.values[v].type, [&](Dim d) { mark_dim(d); });
  }
  void mark_dim(Dim d) {
    for (expr::SymbolId s : expr::symbols_of(d)) {
      if (!seen_symbols_.insert(s).second) continue;
      mark(definitions_.symbol(s));
      // A bound is used to plan memory.
      if (ctx_.info(s).upper) mark_dim(*ctx_.info(s).upper);
    }
  }
  // What a list of nodes does beside giving values: requirements, and its end in a failure.
  void mark_effects(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      bool fails = n.op == "core.if" && graph::diverges(*n.regions[0]) && graph::diverges(*n.regions[1]);
      if (n.op == "core.require" || n.op == "core.fail" || fails) mark(&n);
    }
  }
  void mark_parts(const Node& n) {
    for (ValueId v : n.inputs) mark_value(v);
    for (ValueId v : n.outputs) graph::for_each_dim(f_.values[v].type, [&](Dim d) { mark_dim(d); });
    for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, [&](Dim d) { mark_dim(d); });
    for (const auto& region : n.regions) {
      for (ValueId v : region->params) graph::for_each_dim(f_.values[v].type, [&](Dim d) { mark_dim(d); });
      for (ValueId v : region->results) mark_value(v);
      mark_effects(region->nodes);
    }
  }

  const Function& f_;
  expr::Context& ctx_;
  Definitions definitions_;
  std::unordered_set<const Node*> live_;
  std::unordered_set<expr::SymbolId> seen_symbols_;
  std::vector<const Node*> todo_;
};

void append_live(graph::FunctionBuilder& b, const std::vector<Node>& nodes, const std::unordered_set<const Node*>& live) {
  for (const Node& n : nodes) {
    if (!live.count(&n)) continue;
    Node copy = n;
    for (auto& region : copy.regions) {
      b.begin_region(region->params);
      append_live(b, region->nodes, live);
      region = b.end_region(region->results);
    }
    b.append(std::move(copy));
  }
}

}  // namespace

std::unordered_set<const Node*> live_nodes(const Function& f, expr::Context& ctx) { return Marker(f, ctx).run(); }

graph::FunctionPtr without_dead_nodes(const graph::FunctionPtr& f, expr::Context& ctx) {
  auto live = live_nodes(*f, ctx);
  size_t count = 0;
  graph::for_each_node(*f, [&](const Node&) { ++count; });
  if (live.size() == count) return f;
  auto b = graph::FunctionBuilder::rewriting(*f);
  append_live(b, f->nodes, live);
  return b.finish();
}

}  // namespace pliant::passes
