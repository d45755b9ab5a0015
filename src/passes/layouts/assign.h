// Which nodes run channels-last.
#pragma once
#include <unordered_map>

#include "passes/layouts/channels_last.h"

namespace pliant::passes {

// True when moving between the two forms moves no element: every spatial size is 1, or there is one channel.
bool is_free_to_move(const TensorType& t);
// A transpose between the two forms, as the model wrote it, moves nothing itself: it gives another name to a form of its
// input.
enum class ModelTranspose : uint8_t { None, ToLast, ToFirst };

struct Assignment {
  // Nodes that run channels-last, with how.
  std::unordered_map<const Node*, ChannelsLast> last;
  std::unordered_map<const Node*, ModelTranspose> transposes;
};
// The assignment that moves the fewest elements, given that contractions run channels-last and that params, results and
// operators without a channels-last form are as they are. Empty when there is no contraction to run channels-last.
Result<Assignment> assign_layouts(const Function& f, expr::Context& ctx);

}  // namespace pliant::passes
