// Groups operators into kernels, where the strategies allow one kernel for all of them:
//
//   %3 = nn.conv(%0, %1, %2)            %4 = core.kernel(%0, %1, %2) {backend="cpu"} region(…) {
//   %4 = nn.relu(%3)              ->        %a = nn.conv(…); %b = nn.relu(%a); yield %b }
//
// What a node does is read off its tensor expressions. A group is a chain of elementwise work (Map), rows (softmax,
// normalisations: reductions of the last axes and the elementwise work around them), or a reduction that cannot be repeated
// (a contraction, a pooling window) with what follows it elementwise. Views (reshapes) stay outside: they cost nothing and
// keep indices simple. A group never encloses a path that leaves it, so the result is still in topological order. It has a
// most size, beyond which its code would take longer to make than memory between two kernels takes to pass.
#include "partition/groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "graph/kernel.h"
#include "passes/groups/node_facts.h"

namespace pliant::partition {

using graph::Function;
using graph::FunctionBuilder;
using graph::FunctionPtr;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;
using passes::GroupKind;
using passes::NodeFacts;
using passes::SymbolSources;

namespace {

// The most scalar operations and nodes of a group.
constexpr int64_t kMostOperations = 512;
constexpr size_t kMostNodes = 192;
// How many groups are looked at between two that may be joined; with more they stay apart.
constexpr size_t kMostBetween = 1024;

struct Group {
  GroupKind kind;
  std::vector<size_t> nodes;  // empty once merged into another
  size_t row_rank = 0;
  std::set<size_t> producers;  // groups whose values it reads, or whose sizes it needs; may name merged ones
  size_t stretch = 0;          // what lies between two requirements stays there
  int64_t operations = 0;
  size_t depth = 0;              // more than that of every producer
  std::set<size_t> consumers{};  // the reverse of `producers`
  bool feeds_check = false;      // what a check of a node reads is computed inside
};

// One list of nodes, of the function or of a region: `results` are the values that leave it, `params` those of the region.
class Grouper {
 public:
  Grouper(const Function& f, const std::vector<Node>& nodes, const std::vector<ValueId>& params,
          const std::vector<ValueId>& results, const SymbolSources& sources, expr::Context& ctx)
      : f_(f),
        nodes_(nodes),
        sources_(sources),
        ctx_(ctx),
        params_(params.begin(), params.end()),
        results_(results.begin(), results.end()) {}

  // Appends the nodes, regions too, grouped; whether any group was made.
  Result<bool> run(FunctionBuilder& b) {
    index_values();
    for (const Node& n : nodes_) facts_.push_back(is_append(n) ? NodeFacts() : TRY(passes::facts_of(f_, n, ctx_)));
    for (size_t i = 0; i < nodes_.size(); ++i) add_node(i);
    for (size_t i = 0; i < nodes_.size(); ++i) group_id_[i] = whole(group_id_[i]);
    for (Group& g : groups_) std::sort(g.nodes.begin(), g.nodes.end());
    TRY(rebuild(b));
    return any_grouped_;
  }

 private:
  void index_values() {
    size_t stretch = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (ValueId v : nodes_[i].outputs)
        if (v != kNoValue) producer_.emplace(v, i);
      number_[&nodes_[i]] = i;
      passes::collect_reads(nodes_[i], reads_.emplace_back());
      for (ValueId v : reads_[i]) uses_[v].push_back(i);
      find_earlier(i);
      stretch_.push_back(nodes_[i].op == "core.require" || nodes_[i].op == "core.fail" ? ++stretch : stretch);
    }
  }

  // The nodes of the list that give what node i reads, and the sizes that it needs.
  void find_earlier(size_t i) {
    std::vector<size_t>& earlier = earlier_.emplace_back();
    for (ValueId v : reads_[i])
      if (auto p = producer_of(v)) earlier.push_back(*p);
    std::vector<const Node*> sources;
    passes::collect_sources(f_, nodes_[i], sources_, sources);
    for (const Node* n : sources) {
      auto at = number_.find(n);
      if (at != number_.end() && at->second < i) earlier.push_back(at->second);
    }
  }

  // What a loop carries on from one iteration to the next and grows: it is written behind what is there, by itself.
  bool is_append(const Node& n) const {
    return n.op == "array.concat" && params_.count(n.inputs[0]) != 0 && results_.count(n.outputs[0]) != 0;
  }

  // The node of the list that gives `v`.
  std::optional<size_t> producer_of(ValueId v) const {
    auto it = producer_.find(v);
    return it == producer_.end() ? std::nullopt : std::optional(it->second);
  }
  const std::vector<size_t>& uses_of(ValueId v) const {
    static const std::vector<size_t> kNone;
    auto it = uses_.find(v);
    return it == uses_.end() ? kNone : it->second;
  }
  bool is_single_use(ValueId v) const { return uses_of(v).size() == 1 && !results_.count(v); }
  // ---- groups

  // The group that `g` was merged into, itself where it was not.
  size_t whole(size_t g) const {
    while (merged_into_[g] != g) g = merged_into_[g] = merged_into_[merged_into_[g]];
    return g;
  }

  // A value read through views has to be materialised: only direct reads join.
  std::optional<size_t> group_of(ValueId v) const {
    const std::optional<size_t> p = producer_of(v);
    return p ? std::optional(whole(group_id_[*p])) : std::nullopt;
  }

  // Whether group `from` reads, through other groups, something of `to`; yes where that takes too long to find out.
  bool depends(size_t from, size_t to) const {
    std::vector<size_t> todo{from};
    std::set<size_t> seen;
    while (!todo.empty()) {
      size_t g = todo.back();
      todo.pop_back();
      if (g == to || seen.size() > kMostBetween) return true;
      for (size_t p : groups_[g].producers)
        if (p = whole(p); groups_[p].depth >= groups_[to].depth && seen.insert(p).second) todo.push_back(p);
    }
    return false;
  }

  // Merging is legal when no other producer of the consumer depends on the producer.
  bool can_merge(size_t producer, size_t consumer) const {
    const Group &a = groups_[producer], &b = groups_[consumer];
    if (a.operations + b.operations > kMostOperations || a.nodes.size() + b.nodes.size() > kMostNodes) return false;
    for (size_t p : b.producers)
      if (p = whole(p); p != producer && p != consumer && depends(p, producer)) return false;
    return true;
  }

  // Raises `g` to `depth`, and what reads it accordingly: each group once, those that it reads before it.
  void deepen(size_t g, size_t depth) {
    std::map<std::pair<size_t, size_t>, size_t> todo{{{groups_[g].depth, g}, depth}};  // (depth so far, group) -> wanted
    while (!todo.empty()) {
      const auto [key, wanted] = *todo.begin();
      todo.erase(todo.begin());
      Group& at = groups_[key.second];
      if (at.depth >= wanted) continue;
      at.depth = wanted;
      for (size_t c : at.consumers)
        if (c = whole(c); c != key.second && groups_[c].depth <= wanted) {
          size_t& least = todo[{groups_[c].depth, c}];
          least = std::max(least, wanted + 1);
        }
    }
  }

  void merge(size_t producer, size_t consumer, GroupKind kind, size_t row_rank) {
    Group& a = groups_[producer];
    Group& b = groups_[consumer];
    const bool feeds = feeds_check(a, b);
    merged_into_[consumer] = producer;
    a.nodes.insert(a.nodes.end(), b.nodes.begin(), b.nodes.end());
    a.producers.insert(b.producers.begin(), b.producers.end());
    a.producers.erase(producer);
    a.consumers.insert(b.consumers.begin(), b.consumers.end());
    a.kind = kind;
    a.row_rank = row_rank;
    a.feeds_check |= b.feeds_check || feeds;
    a.operations += b.operations;
    b.nodes.clear();
    b.producers.clear();
    b.consumers.clear();
    size_t depth = a.depth;
    for (size_t p : a.producers)
      if (whole(p) != producer) depth = std::max(depth, groups_[whole(p)].depth + 1);
    deepen(producer, depth);
  }

  void add_node(size_t i) {
    const NodeFacts& facts = facts_[i];
    size_t id = groups_.size();
    group_id_.push_back(id);
    merged_into_.push_back(id);
    Group g{facts.kind, {i}, facts.row_rank, {}, stretch_[i], facts.operations(), 0, {}, false};
    for (size_t n : earlier_[i]) {
      const size_t p = whole(group_id_[n]);
      g.producers.insert(p);
      g.depth = std::max(g.depth, groups_[p].depth + 1);
      groups_[p].consumers.insert(id);
    }
    groups_.push_back(std::move(g));
    if (facts.kind == GroupKind::Opaque || facts.kind == GroupKind::View) return;
    if (facts.has_checks && !facts.checks_in_kernel) return;
    // The heaviest producers first: elementwise work joins a contraction rather than another elementwise chain.
    std::vector<ValueId> inputs = nodes_[i].inputs;
    std::stable_sort(inputs.begin(), inputs.end(), [&](ValueId a, ValueId b) { return weight(a) > weight(b); });
    for (ValueId v : inputs) {
      auto p = group_of(v);
      size_t mine = whole(group_id_[i]);
      if (!p || *p == mine || groups_[*p].stretch != stretch_[i] || !can_merge(*p, mine)) continue;
      auto merged = joined(groups_[*p], groups_[mine], i, v);
      if (merged && keeps_checks(groups_[*p], groups_[mine], merged->kind)) merge(*p, mine, merged->kind, merged->row_rank);
    }
  }

  // A checked node of b reads what a computes.
  bool feeds_check(const Group& a, const Group& b) const {
    const std::set<size_t> producers(a.nodes.begin(), a.nodes.end());
    return std::any_of(b.nodes.begin(), b.nodes.end(), [&](size_t n) {
      return facts_[n].has_checks && std::any_of(reads_[n].begin(), reads_[n].end(), [&](ValueId v) {
               const std::optional<size_t> p = producer_of(v);
               return p && producers.count(*p) != 0;
             });
    });
  }

  // What checks read must be there before the group, or the kernel of a group of maps tests them.
  bool keeps_checks(const Group& a, const Group& b, GroupKind kind) const {
    auto in_kernel = [&](const Group& g) {
      return std::all_of(g.nodes.begin(), g.nodes.end(),
                         [&](size_t n) { return !facts_[n].has_checks || facts_[n].checks_in_kernel; });
    };
    if (!a.feeds_check && !b.feeds_check && !feeds_check(a, b)) return true;
    return kind == GroupKind::Map && in_kernel(a) && in_kernel(b);
  }

  int weight(ValueId v) const {
    auto g = group_of(v);
    if (!g) return 0;
    switch (groups_[*g].kind) {
      case GroupKind::Contraction: return 4;
      case GroupKind::Window: return 3;
      case GroupKind::Rows: return 2;
      case GroupKind::Map: return 1;
      case GroupKind::Opaque:
      case GroupKind::View: break;
    }
    return 0;
  }

  struct Joined {
    GroupKind kind;
    size_t row_rank;
  };
  // What the union of producer group `a` and consumer group `b` would be, joined by node i's read of v; nothing when they
  // stay apart.
  std::optional<Joined> joined(const Group& a, const Group& b, size_t i, ValueId v) const {
    bool in_place = facts_[i].reads_in_place(nodes_[i], v), single = is_single_use(v);
    switch (a.kind) {
      case GroupKind::Map:
        if (b.kind == GroupKind::Map && (in_place || (single && facts_[i].moves_only()))) return Joined{GroupKind::Map, 0};
        // An elementwise side input of a group that has its own root: computed where it is used.
        if ((b.kind == GroupKind::Contraction || b.kind == GroupKind::Window) && b.nodes.size() > 1 && in_place && single)
          return Joined{b.kind, 0};
        if (b.kind == GroupKind::Contraction && b.nodes.size() == 1) return join_operand(a, i, v);
        if (b.kind == GroupKind::Rows && facts_[i].reads_own_rows(nodes_[i], v, b.row_rank) &&
            (single || defined_on_rows(v, b.row_rank)))
          return Joined{GroupKind::Rows, b.row_rank};
        return std::nullopt;
      case GroupKind::Rows:
        if (b.kind == GroupKind::Map && facts_[i].reads_own_rows(nodes_[i], v, a.row_rank))
          return Joined{GroupKind::Rows, a.row_rank};
        if (b.kind == GroupKind::Rows && a.row_rank == b.row_rank && facts_[i].reads_own_rows(nodes_[i], v, a.row_rank))
          return Joined{GroupKind::Rows, a.row_rank};
        return std::nullopt;
      case GroupKind::Contraction:
      case GroupKind::Window:
        if (b.kind == GroupKind::Map && b.nodes.size() >= 1 && (in_place || (single && keeps_last(i))))
          return Joined{a.kind, 0};
        return std::nullopt;
      case GroupKind::Opaque:
      case GroupKind::View: return std::nullopt;
    }
    return std::nullopt;
  }

  bool defined_on_rows(ValueId v, size_t rank) const { return f_.tensor_type(v).shape.size() >= rank; }

  // A transposition that leaves vectors as they are. Another one, after a reduction, would turn its vector loop too.
  bool keeps_last(size_t i) const {
    auto p = facts_[i].permutation();
    return p && (p->axes.empty() || p->axes.back() + 1 == p->axes.size());
  }

  // A transposition before a matrix product is a matter of strides: for the column operand any, for the row operand one that
  // keeps the last axis contiguous.
  std::optional<Joined> join_operand(const Group& a, size_t i, ValueId v) const {
    if (a.nodes.size() != 1 || !is_single_use(v)) return std::nullopt;
    auto p = facts_[a.nodes[0]].permutation();
    if (!p) return std::nullopt;
    size_t last = p->axes.size() - 1;
    bool column_operand = nodes_[i].inputs.size() > 1 && nodes_[i].inputs[1] == v && nodes_[i].inputs[0] != v;
    if (p->axes[last] != last && !column_operand) return std::nullopt;
    return Joined{GroupKind::Contraction, 0};
  }

  // ---- the new function

  Status rebuild(FunctionBuilder& b) {
    std::vector<bool> done(groups_.size(), false);
    for (size_t i = 0; i < nodes_.size(); ++i) TRY(emit_group(b, group_id_[i], done));
    return ok();
  }

  // A node with its regions grouped as well.
  Status emit_node(FunctionBuilder& b, Node n) {
    for (auto& region : n.regions) {
      if (graph::is_kernel(n)) break;
      b.begin_region(region->params);
      const bool grouped = TRY(Grouper(f_, region->nodes, region->params, region->results, sources_, ctx_).run(b));
      any_grouped_ = any_grouped_ || grouped;
      region = b.end_region(region->results);
    }
    b.append(std::move(n));
    return ok();
  }

  // Producers first: merging may have moved a group behind a node that reads it.
  Status emit_group(FunctionBuilder& b, size_t id, std::vector<bool>& done) {
    if (done[id]) return ok();
    done[id] = true;
    // Each group with its producers that come before it, and how many of them have been looked at.
    std::vector<std::pair<std::vector<size_t>, size_t>> open;
    std::vector<size_t> path;
    auto enter = [&](size_t g) {
      done[g] = true;
      path.push_back(g);
      auto& [before, next] = open.emplace_back();
      for (size_t n : groups_[g].nodes)
        for (size_t e : earlier_[n])
          if (group_id_[e] != g) before.push_back(group_id_[e]);
    };
    enter(id);
    while (!open.empty()) {
      auto& [before, next] = open.back();
      if (next < before.size()) {
        if (const size_t g = before[next++]; !done[g]) enter(g);
        continue;
      }
      const Group& g = groups_[path.back()];
      open.pop_back();
      path.pop_back();
      if (g.nodes.size() == 1)
        TRY(emit_node(b, nodes_[g.nodes[0]]));
      else
        emit_kernel(b, g);
    }
    return ok();
  }

  void emit_kernel(FunctionBuilder& b, const Group& g) {
    any_grouped_ = true;
    const std::set<size_t> members(g.nodes.begin(), g.nodes.end());
    std::vector<LocPtr> locs;
    std::vector<Node> nodes;
    std::vector<ValueId> outputs;
    for (size_t n : g.nodes) {
      locs.push_back(nodes_[n].loc);
      nodes.push_back(nodes_[n]);
      for (ValueId v : nodes_[n].outputs) {
        const std::vector<size_t>& uses = uses_of(v);
        if (results_.count(v) || std::any_of(uses.begin(), uses.end(), [&](size_t u) { return !members.count(u); }))
          outputs.push_back(v);
      }
    }
    b.append(graph::make_kernel(b, std::move(nodes), outputs, Loc::make_fused(locs)));
  }

  const Function& f_;
  const std::vector<Node>& nodes_;
  const SymbolSources& sources_;
  expr::Context& ctx_;
  std::set<ValueId> params_, results_;
  std::unordered_map<ValueId, size_t> producer_;
  std::unordered_map<ValueId, std::vector<size_t>> uses_;
  std::vector<std::vector<ValueId>> reads_;
  std::vector<std::vector<size_t>> earlier_;
  std::vector<size_t> stretch_;
  bool any_grouped_ = false;
  std::vector<NodeFacts> facts_;
  std::unordered_map<const Node*, size_t> number_;
  std::vector<Group> groups_;
  std::vector<size_t> group_id_;             // of each node, before merging
  mutable std::vector<size_t> merged_into_;  // of each group, itself where it was not merged
};

}  // namespace

Result<FunctionPtr> group_nodes(const FunctionPtr& f, expr::Context& ctx) {
  FunctionBuilder b = FunctionBuilder::rewriting(*f);
  const bool grouped = TRY(Grouper(*f, f->nodes, {}, f->results, passes::symbol_sources(*f, ctx), ctx).run(b));
  if (!grouped) return f;
  b.set_results(f->results, f->result_names);
  return b.finish();
}

}  // namespace pliant::partition
