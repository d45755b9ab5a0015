#include "lower/kernel.h"

#include "graph/kernel.h"

namespace pliant::lower {

using graph::KernelForm;
using graph::Node;

graph::ConstantPtr ConstantValues::operator[](graph::ValueId v) const {
  if (auto it = own_.find(v); it != own_.end()) return it->second;
  return outer_ ? (*outer_)[v] : nullptr;
}

Result<LoweredNode> lower_kernel(const LoweringContext& in, const Node& kernel) {
  const std::string backend = kernel.attrs.string_or("backend", "");
  if (backend != "cpu")
    return make_error("unknown-target", describe(kernel.loc), "there is no back end \"" + backend + "\"",
                      {"the back ends are: cpu"});
  const KernelForm form = graph::kernel_form(kernel);
  if (form == KernelForm::Group) return lower_node(in, kernel);
  std::vector<Node> nodes = graph::inlined_nodes(kernel);
  std::string reason = "the size of a value between its nodes has no bound";
  std::optional<LoweredNode> low;
  if (form == KernelForm::Chain) {
    low = TRY(lower_chain(in, nodes, kernel.outputs));
  } else {
    ConstantValues all(&in.constants);
    for (const Node& n : nodes)
      if (n.op == "core.const") all.set(n.outputs[0], n.attrs.constant("value"));
    low = TRY(lower_loop({in.function, all, in.ctx, in.target, in.options, in.memo}, nodes.back(), &reason));
  }
  if (!low) return make_error("loop-not-native", describe(kernel.loc), "it cannot be one kernel: " + reason);
  return std::move(*low);
}

}  // namespace pliant::lower
