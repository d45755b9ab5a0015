// Where kernels look whether their run is to end.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "loop/loop.h"

namespace pliant::codegen {

// In operations of the loop IR, with those of a vector counted once: some ten microseconds, or a few milliseconds where each
// is a cache miss. A look is a load and a branch, but each turn also ends a loop, which a processor may not foresee.
constexpr double kOperationsOfOneTurn = 1 << 17;

// Bytes that the iterations of a turn may lie apart in a buffer that they write to: each step of a page may meet a new one,
// and a huge one that nobody has used may take the system milliseconds to find.
constexpr int64_t kBytesOfOneTurn = int64_t{4} << 20;

// How many iterations of a loop make a turn: the kernel looks at its stop flag after each. Where `stride` is set, which is
// at least 1 and known where the loop begins, iterations write to places so many bytes apart, and a turn is also no more
// than kBytesOfOneTurn of them, but one iteration at least.
struct Turn {
  int64_t iterations = 0;  // 0: the loop does not look
  expr::Dim stride;
};
// Places that straight code writes to, at most, before it looks again: each may be on a new huge page.
constexpr size_t kBuffersBetweenLooks = 4;

struct Polls {
  // Iterations of a task grid are tasks. A While looks after every iteration and is not listed.
  std::unordered_map<const loop::Stmt*, Turn> loops;
  // Statements of blocks before which the kernel looks.
  std::unordered_set<const loop::Stmt*> before;
  bool empty() const { return loops.empty() && before.empty(); }
};

// Polls so that `f` does no more than kOperationsOfOneTurn, or one iteration of straight code where that is more, between
// two looks, whatever its sizes are. Loops that are known to be short do not look. Statements that follow one another and
// write to more than kBuffersBetweenLooks buffers have looks between them, except under a vector loop. `f` is legal.
Polls place_polls(const loop::Function& f, expr::Context& ctx);

}  // namespace pliant::codegen
