#include "lower/kernel.h"

#include "graph/kernel.h"

namespace pliant::lower {

using graph::KernelForm;
using graph::Node;

graph::ConstantPtr ConstantValues::operator[](graph::ValueId v) const {
  if (auto it = own_.find(v); it != own_.end()) return it->second;
  return outer_ ? (*outer_)[v] : nullptr;
}

Result<LoweredNode> lower_kernel(const graph::Function& f, const Node& kernel, const ConstantValues& constants,
                                 expr::Context& ctx, const target::Target& target, const Options& options) {
  const std::string backend = kernel.attrs.string_or("backend", "");
  if (backend != "cpu")
    return make_error("unknown-target", describe(kernel.loc), "there is no back end \"" + backend + "\"",
                      {"the back ends are: cpu"});
  const KernelForm form = graph::kernel_form(kernel);
  if (form == KernelForm::Group) return lower_node(f, kernel, constants, ctx, target, options);
  std::vector<Node> nodes = graph::inlined_nodes(kernel);
  std::string reason = "the size of a value between its nodes has no bound";
  std::optional<LoweredNode> low;
  if (form == KernelForm::Chain) {
    low = TRY(lower_chain(f, nodes, kernel.outputs, constants, ctx, target, options));
  } else {
    ConstantValues all(&constants);
    for (const Node& n : nodes)
      if (n.op == "core.const") all.set(n.outputs[0], n.attrs.constant("value"));
    low = TRY(lower_loop(f, nodes.back(), all, ctx, target, options, &reason));
  }
  if (!low) return make_error("loop-not-native", describe(kernel.loc), "it cannot be one kernel: " + reason);
  return std::move(*low);
}

}  // namespace pliant::lower
