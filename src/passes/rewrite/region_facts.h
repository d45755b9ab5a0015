// What passes that move nodes ask about them.
#pragma once
#include <optional>
#include <unordered_set>

#include "ops/control/carried.h"
#include "passes/names.h"

namespace pliant::passes {

using ops::uses_any;
// Whether the node may stop the run: nothing for a node that is no plain computation.
enum class Trap : uint8_t { Never, Maybe };
Result<std::optional<Trap>> trap_of(const Function& f, const Node& n, expr::Context& ctx);
// Whether every output is the same function of the inputs' elements at its position, broadcast, whatever the axes mean.
Result<bool> is_elementwise(const Function& f, const Node& n, expr::Context& ctx);
// Whether the node gives more elements than it reads, none of which takes more to compute than to load: it is cheaper in
// each reader than as a tensor of its own.
Result<bool> repeats_elements(const Function& f, const Node& n, expr::Context& ctx);
// Whether the node gives something else each time that it runs: it is not merged with an equal one, nor computed when
// compiling.
inline bool gives_other_each_time(const Node& n) { return n.op == "nn.random_key"; }
// The values that a region's params and nodes define, those of nested regions too.
std::unordered_set<ValueId> defined_in(const Region& r);

}  // namespace pliant::passes
