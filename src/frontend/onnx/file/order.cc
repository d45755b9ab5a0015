#include "frontend/onnx/file/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace pliant::frontend::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

void add_reads(const NodeProto& n, const Names* defined, std::vector<std::string_view>& out);

// Names that `g` uses and does not define.
void add_captures(const GraphProto& g, std::vector<std::string_view>& out) {
  Names defined;
  for (const auto& v : g.inputs) defined.insert(v.name);
  for (const auto& t : g.initializers) defined.insert(t.name);
  for (const auto& n : g.nodes) defined.insert(n.outputs.begin(), n.outputs.end());
  for (const auto& n : g.nodes) add_reads(n, &defined, out);
  for (const auto& v : g.outputs) {
    if (!defined.count(v.name)) out.push_back(v.name);
  }
}

void add_reads(const NodeProto& n, const Names* defined, std::vector<std::string_view>& out) {
  auto add = [&](std::string_view name) {
    if (!name.empty() && (defined == nullptr || !defined->count(name))) out.push_back(name);
  };
  for (std::string_view name : n.inputs) add(name);
  for (const AttributeProto& a : n.attributes) {
    for (const auto& g : a.graphs) {
      std::vector<std::string_view> captured;
      add_captures(*g, captured);
      for (std::string_view name : captured) add(name);
    }
  }
}

std::string where(const NodeProto& n, size_t index) { return "node \"" + node_name(n, index) + "\" (" + op_name(n) + ")"; }

// The node that uses `name`: `n`, or a node of the graphs in it.
std::string where_used(const NodeProto& n, size_t index, std::string_view name) {
  auto is_used = [&](const std::vector<std::string_view>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_used(n.inputs)) return where(n, index);
  for (const AttributeProto& a : n.attributes)
    for (const auto& g : a.graphs)
      for (size_t i = 0; i < g->nodes.size(); ++i)
        if (is_used(values_read(g->nodes[i]))) return where_used(g->nodes[i], i, name);
  return where(n, index);
}

class Sorter {
 public:
  Sorter(const std::vector<NodeProto>& nodes, const std::function<bool(std::string_view)>& is_defined_outside)
      : nodes_(nodes), is_defined_outside_(is_defined_outside), sources_(nodes.size()) {}

  Order run(const std::vector<std::string_view>& outputs) {
    find_producers();
    find_sources();
    mark_needed(outputs);
    sort();
    return std::move(order_);
  }

 private:
  void find_producers() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (std::string_view name : nodes_[i].outputs) {
        if (name.empty() || producer_.emplace(name, i).second) continue;
        error("duplicate-value", i, "defines '" + std::string(name) + "', which another node defines too");
      }
    }
  }

  void find_sources() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (std::string_view name : values_read(nodes_[i])) {
        auto it = producer_.find(name);
        if (it != producer_.end()) {
          sources_[i].push_back(it->second);
        } else if (!is_defined_outside_(name)) {
          order_.errors.push_back(
              {"missing-value", where_used(nodes_[i], i, name), "uses '" + std::string(name) + "', which nothing defines"});
        }
      }
    }
  }

  void mark_needed(const std::vector<std::string_view>& outputs) {
    needed_.assign(nodes_.size(), false);
    std::vector<size_t> todo;
    auto need = [&](size_t i) {
      if (!needed_[i]) needed_[i] = true, todo.push_back(i);
    };
    for (std::string_view name : outputs) {
      auto it = producer_.find(name);
      if (it != producer_.end()) need(it->second);
    }
    while (!todo.empty()) {
      size_t i = todo.back();
      todo.pop_back();
      for (size_t s : sources_[i]) need(s);
    }
  }

  // Kahn's algorithm; of the nodes that are ready, the first in the file goes next.
  void sort() {
    std::vector<size_t> missing(nodes_.size(), 0);
    std::vector<std::vector<size_t>> users(nodes_.size());
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    size_t wanted = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!needed_[i]) continue;
      ++wanted;
      missing[i] = sources_[i].size();
      for (size_t s : sources_[i]) users[s].push_back(i);
      if (missing[i] == 0) ready.push(i);
    }
    std::vector<bool> done(nodes_.size(), false);
    while (!ready.empty()) {
      size_t i = ready.top();
      ready.pop();
      done[i] = true;
      order_.indices.push_back(i);
      for (size_t u : users[i]) {
        if (--missing[u] == 0) ready.push(u);
      }
    }
    if (order_.indices.size() == wanted) return;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (needed_[i] && !done[i]) return report_cycle(i, done);
    }
  }

  // Walks from an unfinished node to unfinished sources until a node repeats: that one lies on a cycle.
  void report_cycle(size_t start, const std::vector<bool>& done) {
    std::vector<bool> seen(nodes_.size(), false);
    auto blocker = [&](size_t i) {
      for (size_t s : sources_[i]) {
        if (!done[s]) return s;
      }
      return i;
    };
    size_t i = start;
    while (!seen[i]) {
      seen[i] = true;
      i = blocker(i);
    }
    size_t next = blocker(i);
    error("cycle", i, "is part of a cycle: it waits for node \"" + node_name(nodes_[next], next) + "\", which waits for it");
  }

  void error(DiagnosticId id, size_t i, std::string message) {
    order_.errors.push_back({id, where(nodes_[i], i), std::move(message)});
  }

  const std::vector<NodeProto>& nodes_;
  const std::function<bool(std::string_view)>& is_defined_outside_;
  std::unordered_map<std::string_view, size_t> producer_;
  std::vector<std::vector<size_t>> sources_;  // the nodes that each node reads from; one may occur several times
  std::vector<bool> needed_;
  Order order_;
};

}  // namespace

std::string node_name(const NodeProto& n, size_t index) {
  if (!n.name.empty()) return std::string(n.name);
  for (std::string_view out : n.outputs) {
    if (!out.empty()) return std::string(out);
  }
  return std::string(n.op_type) + "_" + std::to_string(index);
}

std::string op_name(const NodeProto& n) {
  return (n.domain.empty() ? "onnx" : std::string(n.domain)) + "." + std::string(n.op_type);
}

std::vector<std::string_view> values_read(const NodeProto& n) {
  std::vector<std::string_view> out;
  add_reads(n, nullptr, out);
  return out;
}

Order order_nodes(const std::vector<NodeProto>& nodes, const std::vector<std::string_view>& outputs,
                  const std::function<bool(std::string_view)>& is_defined_outside) {
  return Sorter(nodes, is_defined_outside).run(outputs);
}

}  // namespace pliant::frontend::onnx
