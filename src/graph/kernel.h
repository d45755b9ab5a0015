// core.kernel: nodes that become one kernel, made by the back end that its attribute `backend` names.
//
//   %2 = core.kernel(%0, %1) {backend="cpu"} : f32[n]
//     region(%3: f32[n], %4: f32[n]) {
//       %5 = math.add(%3, %4) : f32[n]
//       yield %5
//     }
//
// The region uses no values but its params, which are the inputs; its results are the outputs. Sizes are known inside as
// outside. Sizes that are known only when the kernel has run are listed in `symbols`.
#pragma once
#include "graph/graph.h"

namespace pliant::graph {

enum class KernelForm : uint8_t {
  Group,  // operators that are computed together, as one set of tensor expressions
  Chain,  // kernels and views that run one after another
  Loop,   // one core.loop, whose body holds kernels, behind the constants of its conditions
};
bool is_kernel(const Node& n);
// Of a core.kernel that check_form accepts.
KernelForm kernel_form(const Node& kernel);

// `nodes` as a kernel of back end "cpu". `outputs` are the values of theirs that others use: the kernel's outputs, while the
// nodes in its region give values of their own. Values that they use from outside become inputs, in the order of their
// first uses.
Node make_kernel(FunctionBuilder& b, std::vector<Node> nodes, const std::vector<ValueId>& outputs, LocPtr loc);
// The nodes of the kernel's region over the values around it: inputs for params, outputs for results.
std::vector<Node> inlined_nodes(const Node& kernel);

}  // namespace pliant::graph
