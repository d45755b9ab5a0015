// How long a kernel should take, from its loops and a machine's figures.
#pragma once
#include "lower/lower.h"

namespace pliant::bufferize {

// The size of a symbol that predictions are for: the likeliest; else 64, or 1 of the first axis of an input, within its
// bounds.
int64_t likely_size(const expr::SymbolInfo& info);

using SizeOf = std::function<std::optional<int64_t>(expr::SymbolId)>;
// Nanoseconds on one core by the roofline model (Williams, Waterman, Patterson 2009): the longer of computing and moving.
// Computing: two operations a cycle, each on one vector in vector loops, where a multiply-add is one and reading memory
// none. Of branches the longer counts, loops run as often as with the outer ones at their first iteration. Moving: each
// element of each param once, at the rate of the cache that holds all of them, or of memory. The call is not part of it,
// nor are latencies and shuffles. 0 where the kernel does not run at these sizes.
uint64_t predicted_ns(const lower::LoweredKernel& k, const target::Target& target, const SizeOf& size);

}  // namespace pliant::bufferize
