// Sums over groups of channels that are the innermost axis of the output, as a grouped convolution has them.
#pragma once
#include <optional>

#include "lower/epilogue.h"

namespace pliant::lower {

// The axis divided into groups and positions in them, so that the groups are a loop of their own and each is a product.
// Nothing where the innermost axis of the output has no groups of known size, or such small ones that several share a
// vector.
std::optional<Recast> split_groups(const Problem& p, const Stage& s, const Epilogue& e);

}  // namespace pliant::lower
