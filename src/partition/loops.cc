// Loops: each that lowering makes one native function of is a kernel (ADR 0012), the host runs the others.
#include <algorithm>

#include "graph/kernel.h"
#include "graph/list_type.h"
#include "ops/control/carried.h"
#include "partition/partitioner.h"
#include "passes/groups/node_facts.h"

namespace pliant::partition {

Status Partitioner::add_loop(const Node& n) {
  if (options_.native_loops) {
    std::string reason;
    if (auto low = TRY(lower::lower_loop({f_, constants_, ctx_, target_, options_.lower, &memo_}, n, &reason))) {
      for (const lower::SymbolRead& r : low->reads) known_.insert(r.symbol);
      Node kernel = loop_kernel(n, *low);
      add_kernel(std::move(kernel), std::move(*low));
      learn(n.outputs);
      return ok();
    }
    if (options_.remark) options_.remark(describe(n.loc) + " runs as bytecode, not as one native function: " + reason);
  }
  const graph::LoopParts loop = graph::loop_parts(n);
  std::vector<bool> grows;
  for (ValueId v : loop.body->params) grows.push_back(!graph::is_list(f_.value(v).type) && !all_known(f_.tensor_type(v)));
  find_appends_of_host(loop, grows);
  learn(loop.index);
  learn(loop.body->params);
  Node copy = n;
  TRY(add_region(copy.regions[0]));
  b_.append(std::move(copy));
  learn(loop.count);
  learn(n.outputs);
  return ok();
}

// What the host carries in a growable block is appended to where it lies.
void Partitioner::find_appends_of_host(const graph::LoopParts& loop, const std::vector<bool>& grows) {
  if (graph::diverges(*loop.body)) return;
  for (size_t k = 0; k < loop.carried; ++k) {
    ops::BranchAppends found;
    if (!grows[k] || !ops::appends_in_branches(f_, *loop.body, loop.next(k), loop.body->params[k], found)) continue;
    for (const auto& [concat, region] : found.concats) appends_.insert(concat->outputs[0]);
  }
}

void Partitioner::find_appends_of_kernel(const Node& n) {
  const graph::LoopParts loop = graph::loop_parts(n);
  if (graph::diverges(*loop.body)) return;
  for (size_t k = 0; k < loop.carried; ++k)
    if (auto append = ops::append_to(f_, *loop.body, loop.body->params[k], loop.next(k)); append && append->at_end)
      appends_.insert(append->concat->outputs[0]);
}

std::shared_ptr<const graph::Region> Partitioner::with_kernels(const graph::Region& r) {
  graph::Region out{r.params, {}, r.results};
  for (const Node& n : r.nodes) out.nodes.push_back(with_kernels_inside(n));
  return std::make_shared<const graph::Region>(std::move(out));
}

Node Partitioner::with_kernels_inside(Node n) {
  if (is_computed(n)) return as_kernel(n);
  if (n.op == "core.loop") find_appends_of_kernel(n);
  for (auto& region : n.regions) region = with_kernels(*region);
  return n;
}

// Constants that say whether the loop goes on are part of what it is.
Node Partitioner::loop_kernel(const Node& n, const lower::LoweredNode& low) {
  std::vector<ValueId> reads;
  passes::collect_reads(n, reads);
  std::vector<Node> nodes;
  for (ValueId v : reads) {
    const auto constant = constant_nodes_.find(v);
    if (constant == constant_nodes_.end() || f_.tensor_type(v).dtype != DType::Bool) continue;
    if (std::none_of(nodes.begin(), nodes.end(), [&](const Node& c) { return c.outputs[0] == v; }))
      nodes.push_back(*constant->second);
  }
  nodes.push_back(with_kernels_inside(n));
  Node kernel = graph::make_kernel(b_, std::move(nodes), n.outputs, n.loc);
  std::vector<graph::Dim> symbols;
  for (const lower::SymbolRead& r : low.reads) symbols.push_back(ctx_.symbol_dim(r.symbol));
  if (!symbols.empty()) kernel.attrs.set("symbols", std::move(symbols));
  return kernel;
}

}  // namespace pliant::partition
