// Small nodes in a row become one kernel: calling a kernel costs as much as the work of a node on a few hundred elements.
#include <algorithm>

#include "bufferize/bufferizer.h"
#include "lower/view.h"

namespace pliant::bufferize {

namespace {

constexpr size_t kMostNodes = 48;
constexpr int64_t kMostElements = 16384;  // of an output
// A kernel that threads could share is small below the work that pays for a second one; one of a single task may be larger.
constexpr int64_t kSharedWork = 32768, kSingleWork = int64_t{1} << 22;

int64_t least(expr::Context& ctx, Dim d) { return ctx.range(d).lo; }

}  // namespace

// Whether the node is kernels of constant small work; keeps its lowering either way.
bool Bufferizer::is_small(const Node& n) {
  if (alone_.count(&n)) return false;
  if (n.op != "core.fused") {
    const ops::OpDef* op = ops::find_op(n.op);
    if (op == nullptr || !op->compute) return false;
  }
  for (ValueId v : n.outputs) {
    if (v == kNoValue) continue;
    const Dim elements = product(ctx_, f_.tensor_type(v).shape);
    if (appends_.count(v) || !elements.is_const() || elements.const_value() > kMostElements) return false;
  }
  if (!lowered_.count(&n)) {
    auto low = lower::lower_node(f_, n, constants_, ctx_, target_, options_.lower);
    if (!low.ok()) return false;  // reported when the node is emitted
    lowered_.emplace(&n, low.take());
  }
  const lower::LoweredNode& low = lowered_.at(&n);
  return std::all_of(low.kernels.begin(), low.kernels.end(), [&](const lower::LoweredKernel& k) {
    return k.work.is_const() && least(ctx_, k.work) <= (k.tasks.is_const(1) ? kSingleWork : kSharedWork);
  });
}

// Follows the run's views of `v` to what is computed, or comes from before.
ValueId Bufferizer::root_in(std::span<const Node> run, ValueId v) const {
  for (size_t i = run.size(); i-- > 0;)
    if (run[i].outputs.size() == 1 && run[i].outputs[0] == v && lower::view_of(run[i], f_, ctx_)) v = run[i].inputs[0];
  return v;
}

// What the run computes and something else uses, under this name or as a view.
std::vector<ValueId> Bufferizer::used_after(std::span<const Node> run) const {
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

// Whether an output is to lie where a value is that the run reads: in one kernel these would be two names for one memory.
bool Bufferizer::writes_over(std::span<const Node> run, const std::vector<ValueId>& outputs) const {
  for (ValueId v : outputs) {
    const Storage* planned = place_planned_for(v);
    if (planned == nullptr) continue;
    for (const Node& n : run)
      for (ValueId in : n.inputs)
        if (in != kNoValue && storage_[in].same_memory(*planned)) return true;
  }
  return false;
}

Result<size_t> Bufferizer::bufferize_chain(const std::vector<Node>& nodes, size_t first) {
  if (options_.lower.opt_level < 2) return size_t{0};
  size_t kernels = 0, end = first;
  for (size_t i = first; i < nodes.size() && i - first < kMostNodes; ++i) {
    const Node& n = nodes[i];
    if (n.op == "core.const" || lower::view_of(n, f_, ctx_)) continue;
    if (n.outputs.empty() || !is_small(n)) break;
    ++kernels;
    end = i + 1;
  }
  if (kernels < 2) return size_t{0};
  const std::span<const Node> run(nodes.data() + first, end - first);
  for (const Node& n : run)
    if (n.op == "core.const") TRY(bufferize_node(n));
  const std::vector<ValueId> outputs = used_after(run);
  std::optional<lower::LoweredNode> low;
  if (!writes_over(run, outputs)) low = TRY(lower::lower_chain(f_, run, outputs, constants_, ctx_, target_, options_.lower));
  if (!low) {
    for (const Node& n : run) alone_.insert(&n);
    return size_t{0};
  }
  std::vector<LocPtr> locs;
  for (const Node& n : run) {
    if (n.op != "core.const") locs.push_back(n.loc);
    lowered_.erase(&n);
  }
  TRY(bufferize_lowered(Node{"core.chain", {}, {}, outputs, {}, Loc::make_fused(locs)}, std::move(*low)));
  // Views of what nothing else uses have no memory, and no use.
  for (const Node& n : run) {
    if (n.op == "core.const" || !lower::view_of(n, f_, ctx_)) continue;
    const ValueId root = root_in(run, n.outputs[0]);
    if (storage_[root].known || constants_.by_value[root] ||
        std::find(outputs.begin(), outputs.end(), root) != outputs.end())
      TRY(bufferize_node(n));
  }
  return run.size();
}

}  // namespace pliant::bufferize
