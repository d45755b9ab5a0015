// Whether a rewritten function does what the one that it was made from does, by running both on the interpreter.
#pragma once
#include <functional>

#include "loop/loop.h"

namespace pliant::loop {

// The memory of a param.
struct Array {
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
};
// Changes the inputs of `before` into those of `after`, one a param.
using Relayout = std::function<void(std::vector<Array>&)>;

// Runs both functions on the same random inputs at `rounds` random bindings of the symbols, small ones and those around tile
// sizes; what they write must be equal, up to rounding where updates of floats were reordered. The loops of `after` whose
// order must not matter are run backwards, too. A binding at which `before` itself is out of bounds does not count. The
// error says at which binding which element differs.
Status check_equivalence(const Function& before, const Function& after, expr::Context& ctx, uint64_t seed, int rounds,
                         const Relayout& relayout = {});

}  // namespace pliant::loop
