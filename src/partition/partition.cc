#include "partition/partition.h"

#include <set>

#include "partition/groups.h"
#include "partition/partitioner.h"

namespace pliant::partition {
namespace {

// Numbers of the functions that run, the entry first.
std::vector<size_t> functions_that_run(const graph::Module& module) {
  std::vector<size_t> order{0};
  std::set<std::string> seen{module.main().name};
  for (size_t i = 0; i < order.size(); ++i)
    graph::for_each_node(*module.functions[order[i]], [&](const graph::Node& n) {
      if (n.op != "core.call") return;
      const std::string name = n.attrs.string_or("callee", "");
      for (size_t k = 0; k < module.functions.size(); ++k)
        if (module.functions[k]->name == name && seen.insert(name).second) order.push_back(k);
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
