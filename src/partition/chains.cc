// Small nodes in a row become one kernel: calling a kernel costs as much as the work of a node on a few hundred elements.
#include <algorithm>
#include <map>

#include "graph/kernel.h"
#include "lower/view.h"
#include "partition/partitioner.h"

namespace pliant::partition {

using graph::kNoValue;

namespace {

constexpr size_t kMostNodes = 48;
constexpr int64_t kMostElements = 16384;  // of an output
// A kernel that threads could share is small below the work that pays for a second one; one of a single task may be larger.
constexpr int64_t kSharedWork = 32768, kSingleWork = int64_t{1} << 22;

int64_t least(expr::Context& ctx, graph::Dim d) { return ctx.range(d).lo; }

}  // namespace

// Whether the node is kernels of constant small work; keeps its lowering either way.
bool Partitioner::is_small(const Node& n) {
  if (alone_.count(&n) || !is_computed(n)) return false;
  for (ValueId v : n.outputs) {
    if (v == kNoValue) continue;
    const graph::Dim elements = expr::product(ctx_, f_.tensor_type(v).shape);
    if (!elements.is_const() || elements.const_value() > kMostElements) return false;
  }
  if (!tried_.count(&n)) {
    auto low = lower::lower_node({f_, constants_, ctx_, target_, options_.lower, &memo_}, n);
    if (!low.ok()) return false;  // reported when the node is lowered
    tried_.emplace(&n, low.take());
  }
  const lower::LoweredNode& low = tried_.at(&n);
  return std::all_of(low.kernels.begin(), low.kernels.end(), [&](const lower::LoweredKernel& k) {
    return k.work.is_const() && least(ctx_, k.work) <= (k.tasks.is_const(1) ? kSingleWork : kSharedWork);
  });
}

// Follows the run's views of `v` to what is computed, or comes from before.
ValueId Partitioner::root_in(std::span<const Node> run, ValueId v) const {
  for (size_t i = run.size(); i-- > 0;)
    if (run[i].outputs.size() == 1 && run[i].outputs[0] == v && lower::view_of(run[i], f_, ctx_)) v = run[i].inputs[0];
  return v;
}

// What the run computes and something else uses, under this name or as a view.
std::vector<ValueId> Partitioner::used_after(std::span<const Node> run) const {
  std::map<ValueId, uint32_t> inside;
  for (const Node& n : run)
    for (ValueId v : n.inputs)
      if (v != kNoValue) ++inside[v];
  std::set<ValueId> needed;
  for (const Node& n : run)
    for (ValueId v : n.outputs)
      if (v != kNoValue && uses_[v] > inside[v]) needed.insert(root_in(run, v));
  std::vector<ValueId> out;
  for (const Node& n : run) {
    if (n.op == "core.const") continue;
    for (ValueId v : n.outputs)
      if (needed.count(v)) out.push_back(v);
  }
  return out;
}

// The run without its constants, and without the views that nothing in it reads.
Node Partitioner::chain_kernel(std::span<const Node> run, const std::vector<ValueId>& outputs) {
  std::vector<Node> nodes;
  std::vector<LocPtr> locs;
  std::set<ValueId> read;
  for (size_t i = run.size(); i-- > 0;) {
    const Node& n = run[i];
    const bool computed = is_computed(n);
    if (n.op == "core.const" || (!computed && !read.count(n.outputs[0]))) continue;
    read.insert(n.inputs.begin(), n.inputs.end());
    nodes.push_back(computed ? as_kernel(n) : n);
  }
  std::reverse(nodes.begin(), nodes.end());
  for (const Node& n : run)
    if (n.op != "core.const") locs.push_back(n.loc);
  return graph::make_kernel(b_, std::move(nodes), outputs, Loc::make_fused(locs));
}

// The views of the run that something behind it reads.
Status Partitioner::add_views(std::span<const Node> run) {
  std::map<ValueId, uint32_t> inside;
  for (const Node& n : run)
    for (ValueId v : n.inputs)
      if (v != kNoValue) ++inside[v];
  std::set<ValueId> needed;
  std::vector<const Node*> views;
  for (size_t i = run.size(); i-- > 0;) {
    const Node& n = run[i];
    if (n.op == "core.const" || is_computed(n)) continue;
    const ValueId v = n.outputs[0];
    if (uses_[v] <= inside[v] && !needed.count(v)) continue;
    needed.insert(n.inputs[0]);
    views.push_back(&n);
  }
  for (size_t i = views.size(); i-- > 0;) TRY(add_node(*views[i]));
  return ok();
}

Result<size_t> Partitioner::add_chain(const std::vector<Node>& nodes, size_t first) {
  if (options_.lower.opt_level < kGroupingLevel) return size_t{0};
  size_t kernels = 0, end = first;
  for (size_t i = first; i < nodes.size() && i - first < kMostNodes; ++i) {
    const Node& n = nodes[i];
    if (n.op == "core.const" || lower::view_of(n, f_, ctx_)) {
      learn_constant(n);  // what is tried next may read it
      continue;
    }
    if (n.outputs.empty() || !is_small(n)) break;
    ++kernels;
    end = i + 1;
  }
  if (kernels < 2) return size_t{0};
  const std::span<const Node> run(nodes.data() + first, end - first);
  const std::vector<ValueId> outputs = used_after(run);
  std::optional<lower::LoweredNode> low =
      TRY(lower::lower_chain({f_, constants_, ctx_, target_, options_.lower, &memo_}, run, outputs));
  if (!low) {
    for (const Node& n : run) alone_.insert(&n);
    return size_t{0};
  }
  for (const Node& n : run)
    if (n.op == "core.const") TRY(add_node(n));
  add_kernel(chain_kernel(run, outputs), std::move(*low));
  for (const Node& n : run) tried_.erase(&n);
  learn(outputs);
  TRY(add_views(run));
  return run.size();
}

}  // namespace pliant::partition
