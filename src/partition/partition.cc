#include "partition/partition.h"

#include <unordered_map>

#include "partition/groups.h"
#include "partition/partitioner.h"

namespace pliant::partition {
namespace {

// Numbers of the functions that run, the entry first.
std::vector<size_t> functions_that_run(const graph::Module& module) {
  std::unordered_map<std::string, size_t> others;  // not found so far
  for (size_t k = 1; k < module.functions.size(); ++k) others.emplace(module.functions[k]->name, k);
  std::vector<size_t> order{0};
  for (size_t i = 0; i < order.size(); ++i)
    graph::for_each_node(*module.functions[order[i]], [&](const graph::Node& n) {
      if (n.op != "core.call") return;
      if (auto called = others.extract(n.attrs.string_or("callee", "")); !called.empty()) order.push_back(called.mapped());
    });
  return order;
}

}  // namespace

Result<Partitioned> partition(const graph::Module& module, const target::Target& target, const Options& options) {
  Partitioned out{module, {}};
  for (size_t i : functions_that_run(module)) {
    graph::FunctionPtr& f = out.module.functions[i];
    if (options.lower.opt_level >= kGroupingLevel) f = TRY(group_nodes(f, *module.ctx));
    f = TRY(Partitioner(*f, *module.ctx, target, options, out.lowered).run());
  }
  return out;
}

}  // namespace pliant::partition
