// Where kernels look whether their run is to end.
#pragma once
#include <unordered_map>

#include "loop/loop.h"

namespace pliant::codegen {

// In operations of the loop IR, with those of a vector counted once: some ten microseconds, or a few milliseconds where each
// is a cache miss. A look is a load and a branch, but each turn also ends a loop, which a processor may not foresee.
constexpr double kOperationsOfOneTurn = 1 << 17;

// For loops, how many of their iterations make a turn: the kernel looks at its stop flag after each. Iterations of a task
// grid are tasks. A While looks after every iteration and is not listed.
using Polls = std::unordered_map<const loop::Stmt*, int64_t>;

// Polls so that `f` does no more than kOperationsOfOneTurn, or one iteration of straight code where that is more, between
// two looks, whatever its sizes are. Loops that are known to be short do not look. `f` is legal.
Polls place_polls(const loop::Function& f, expr::Context& ctx);

}  // namespace pliant::codegen
