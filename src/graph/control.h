// The structured nodes: core.if, core.loop, core.call, core.require, core.fail. What their parts are called and which forms
// are well made; what verifying, passes, bufferizing and the reference evaluator agree on.
#pragma once
#include <optional>

#include "graph/graph.h"

namespace pliant::graph {

// Whether the region ends in core.fail, or in a core.if both of whose branches do: it yields nothing.
bool diverges(const Region& r);

// A core.if. The condition is `condition`, or `cond` where that is absent.
struct IfParts {
  ValueId condition = kNoValue;
  std::optional<Dim> cond;
  const Region* then = nullptr;
  const Region* otherwise = nullptr;
};
// A core.loop whose node has the right form. `init`, `params` and the first outputs are the carried values; the region's
// results are the next condition, the next carried values and the scan values.
struct LoopParts {
  ValueId condition = kNoValue;
  std::optional<Dim> trip;
  Dim index, count;
  size_t carried = 0, scans = 0;
  const Region* body = nullptr;
  ValueId init(const Node& n, size_t i) const { return n.inputs[i + 1]; }
  // Of a body that does not diverge.
  ValueId next_condition() const { return body->results[0]; }
  ValueId next(size_t i) const { return body->results[1 + i]; }
  ValueId scan(size_t i) const { return body->results[1 + carried + i]; }
};
// The parts of nodes that check_form accepts.
IfParts if_parts(const Node& n);
LoopParts loop_parts(const Node& n);

Node make_require(const ShapeConstraint& o);
ShapeConstraint constraint_of(const Node& require);

// The value's bool when a core.const defines it, in any scope.
std::optional<bool> constant_condition(const Function& f, ValueId v);
// Whether the loop runs exactly max(0, trip) times, or for ever: it has no condition before it and its body yields the
// constant true.
bool is_unconditional(const Function& f, const LoopParts& loop);

// Whether the node's inputs, attributes and regions are those of its operator: counts and kinds only. Good for every
// operator; only those above are looked at.
Status check_form(const Node& n);

}  // namespace pliant::graph
