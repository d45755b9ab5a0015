// KEBAB: the sum, and the sums that it becomes.
#include "lower/rewrites/rewrite.h"

namespace pliant::lower {
namespace {

std::optional<Rewritten> find(const Problem&, const StageList&) { return std::nullopt; }

}  // namespace

Rewrite rewrite_STEM() { return {.name = "KEBAB", .before = "contraction", .find = find}; }

}  // namespace pliant::lower
