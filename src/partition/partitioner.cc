#include "partition/partitioner.h"

#include <algorithm>

#include "base/stop.h"
#include "graph/kernel.h"
#include "graph/visit.h"
#include "lower/view.h"
#include "ops/op.h"

namespace pliant::partition {

using graph::kNoValue;

Partitioner::Partitioner(const graph::Function& f, expr::Context& ctx, const target::Target& target, const Options& options,
                         lower::LoweredKernels& lowered)
    : f_(f),
      ctx_(ctx),
      target_(target),
      options_(options),
      lowered_(lowered),
      b_(graph::FunctionBuilder::rewriting(f)),
      uses_(f.values.size(), 0) {
  auto count = [&](const std::vector<ValueId>& values) {
    for (ValueId v : values)
      if (v != kNoValue) ++uses_[v];
  };
  graph::for_each_node(f, [&](const Node& n) {
    count(n.inputs);
    for (const auto& region : n.regions) count(region->results);
  });
  count(f.results);
  learn(f.params);
  for (expr::SymbolId s : graph::symbols_of(f, ctx))
    if (ctx.info(s).origin.kind == expr::Origin::Kind::InputValue) known_.insert(s);
}

Result<graph::FunctionPtr> Partitioner::run() {
  TRY(add_nodes(f_.nodes));
  b_.set_results(f_.results, f_.result_names);
  return b_.finish();
}

void Partitioner::learn(graph::Dim d) {
  for (expr::SymbolId s : expr::symbols_of(d)) known_.insert(s);
}

void Partitioner::learn(const std::vector<ValueId>& values) {
  for (ValueId v : values)
    if (v != kNoValue && f_.value(v).type.tensor() != nullptr)
      for (graph::Dim d : f_.tensor_type(v).shape) learn(d);
}

bool Partitioner::all_known(const graph::TensorType& t) const {
  return std::all_of(t.shape.begin(), t.shape.end(), [&](graph::Dim d) {
    const auto symbols = expr::symbols_of(d);
    return std::all_of(symbols.begin(), symbols.end(), [&](expr::SymbolId s) { return known_.count(s) != 0; });
  });
}

bool Partitioner::is_computed(const Node& n) const {
  if (graph::is_kernel(n)) return true;
  const ops::OpDef* op = ops::find_op(n.op);
  if (n.op == "core.const" || op == nullptr || !op->compute || lower::view_of(n, f_, ctx_)) return false;
  return !(n.outputs.size() == 1 && appends_.count(n.outputs[0]));
}

Node Partitioner::as_kernel(const Node& n) {
  if (graph::is_kernel(n)) return n;
  std::vector<ValueId> outputs;
  for (ValueId v : n.outputs)
    if (v != kNoValue) outputs.push_back(v);
  std::vector<Node> nodes;
  nodes.push_back(n);
  return graph::make_kernel(b_, std::move(nodes), outputs, n.loc);
}

void Partitioner::add_kernel(Node kernel, lower::LoweredNode low) {
  lowered_.emplace(kernel.regions[0].get(), std::move(low));
  b_.append(std::move(kernel));
}

Status Partitioner::add_nodes(const std::vector<Node>& nodes) {
  for (size_t done = 0; done < nodes.size();) {
    poll_stop();
    const size_t count = TRY(add_chain(nodes, done));
    if (count == 0) TRY(add_node(nodes[done]));
    done += std::max<size_t>(count, 1);
    if (&nodes == &f_.nodes && options_.progress)
      options_.progress(static_cast<double>(done) / static_cast<double>(nodes.size()));
  }
  return ok();
}

Status Partitioner::add_region(std::shared_ptr<const graph::Region>& region) {
  b_.begin_region(region->params);
  TRY(add_nodes(region->nodes));
  region = b_.end_region(region->results);
  return ok();
}

void Partitioner::learn_constant(const Node& n) {
  if (n.outputs.size() != 1 || constants_[n.outputs[0]]) return;
  if (n.op == "core.const") {
    constants_.set(n.outputs[0], n.attrs.constant("value"));
    constant_nodes_[n.outputs[0]] = &n;
  } else if (auto view = lower::view_of(n, f_, ctx_); view && view->is_whole() && constants_[n.inputs[0]]) {
    constants_.set(n.outputs[0], lower::with_shape(constants_[n.inputs[0]], f_.tensor_type(n.outputs[0])));
  }
}

Status Partitioner::add_node(const Node& n) {
  if (n.op == "core.loop") return add_loop(n);
  if (is_computed(n)) {
    Node kernel = as_kernel(n);
    if (auto tried = tried_.extract(&n); !tried.empty())
      add_kernel(std::move(kernel), std::move(tried.mapped()));
    else
      b_.append(std::move(kernel));
    learn(n.outputs);
    return ok();
  }
  learn_constant(n);
  if (n.op == "core.read_dims")
    for (graph::Dim d : n.attrs.dims_or("symbols", {})) learn(d);
  Node copy = n;
  for (auto& region : copy.regions) TRY(add_region(region));
  b_.append(std::move(copy));
  learn(n.outputs);
  return ok();
}

}  // namespace pliant::partition
