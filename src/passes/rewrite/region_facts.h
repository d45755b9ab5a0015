// What passes that move nodes ask about them.
#pragma once
#include <optional>
#include <unordered_set>

#include "passes/names.h"

namespace pliant::passes {

// Whether the node may stop the run: nothing for a node that is no plain computation.
enum class Fault : uint8_t { Never, Maybe };
Result<std::optional<Fault>> fault_of(const Function& f, const Node& n, expr::Context& ctx);
// Whether the node gives something else each time that it runs: it is not merged with an equal one, nor computed when
// compiling.
inline bool gives_other_each_time(const Node& n) { return n.op == "nn.random_key"; }
// The values that a region's params and nodes define, those of nested regions too.
std::unordered_set<ValueId> defined_in(const Region& r);
// Whether the node, or a region of it, uses one of `values`.
bool uses_any(const Node& n, const std::unordered_set<ValueId>& values);

}  // namespace pliant::passes
