// What every operator does when its activations are channels-last: [N, C, spatial…] held as [N, spatial…, C].
#pragma once
#include <optional>

#include "passes/names.h"

namespace pliant::passes {

// How a value is held. Full: of a broadcast operand of lower rank, extended with ones in front to `rank` and then
// channels-last.
enum class Form : uint8_t { AsIs, Last, Full };

// The channels-last form of one node.
struct ChannelsLast {
  std::vector<Form> inputs;
  std::vector<Form> outputs;  // AsIs or Last
  Attrs attrs;
  size_t rank = 0;      // of the Full inputs
  bool wanted = false;  // a contraction over channels: worth moving data for
};

// Nothing where the operator has no such form, or gains nothing from it.
Result<std::optional<ChannelsLast>> channels_last(const Function& f, const Node& n, expr::Context& ctx);

// Axis k of the channels-last form is axis perm[k] of [N, C, spatial…], and back.
std::vector<int64_t> to_last(size_t rank);
std::vector<int64_t> to_first(size_t rank);

}  // namespace pliant::passes
